"""Collections on real clusters of this machine, Ray's and Spark's, with workers that die."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from incoref.batch import run
from incoref.resolver import Resolver
from tiny_models import TinyModels

ROWS = 120
TESTS = str(Path(__file__).parents[1])
TEXTS = [f"Anna met Carl. She left. {'The dog saw the old man. ' * (n % 5)}He saw her." for n in range(ROWS)]


def missing(package: str) -> bool:
    """Engines are large: they have a step of their own in .ci/run, which says that they must be there."""
    if os.environ.get("INCOREF_ENGINES"):
        return False
    return find_spec(package) is None


@pytest.fixture(scope="module")
def model(tiny: TinyModels) -> Path:
    return tiny.stateless["int8"].folder


@pytest.fixture(scope="module")
def expected(tiny: TinyModels) -> list[Any]:
    """What one process answers, document by document."""
    return [chains(entity.to_json() for entity in found.entities) for found in alone(tiny)]


def alone(tiny: TinyModels) -> list[Any]:
    resolver = Resolver(tiny.stateless["int8"])
    return [resolver.resolve(text) for text in TEXTS]


def chains(entities: Any) -> list[list[tuple[int, int, float]]]:
    return [[(m["start"], m["end"], m["confidence"]) for m in entity["mentions"]] for entity in entities]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    if missing("ray"):
        pytest.skip("Ray is not installed")
    import ray

    # Workers import what the tests import.
    source = Path(sys.modules["incoref"].__file__ or "").parents[1]
    paths = os.pathsep.join(map(str, (source, TESTS, Path(__file__).parent)))
    ray.init(
        num_cpus=2,
        object_store_memory=150_000_000,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": paths}},
    )
    yield ray
    ray.shutdown()


def test_ray_data_with_a_worker_killed(cluster: Any, model: Path, expected: list[Any], tmp_path: Path) -> None:
    from incoref.integrations.ray import Resolve

    marker = str(tmp_path / "killed")

    class Mortal(Resolve):
        calls = 0

        def __call__(self, batch: Any) -> Any:
            type(self).calls += 1
            if type(self).calls == 3:  # in the middle
                try:
                    Path(marker).touch(exist_ok=False)
                    os.kill(os.getpid(), signal.SIGKILL)
                except FileExistsError:
                    pass
            return super().__call__(batch)

    data = cluster.data.from_items([{"id": n, "text": text, "n": n * n} for n, text in enumerate(TEXTS)])
    answers = data.map_batches(
        Mortal,
        fn_constructor_kwargs={"model": str(model)},
        compute=cluster.data.ActorPoolStrategy(size=2),
        num_cpus=0.5,
        batch_size=8,
        batch_format="pyarrow",
    ).take_all()
    assert Path(marker).exists(), "nobody was killed"
    answers.sort(key=lambda row: row["id"])
    assert [row["id"] for row in answers] == list(range(ROWS))
    assert [row["n"] for row in answers] == [n * n for n in range(ROWS)]
    assert [chains(row["entities"]) for row in answers] == expected
    assert {row["error"] for row in answers} == {None}


def test_incoref_batch_on_a_cluster_gives_the_same_bytes(
    cluster: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the workers are elsewhere
    lines, story = Path("in.jsonl"), Path("story.txt")
    lines.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(TEXTS)))
    story.write_text(TEXTS[0])
    run([lines, story], "here", model=model, shard_rows=10)
    summary = run([lines, story], "there", model=model, shard_rows=10, workers=2, ray="local")
    assert (summary.documents, summary.errors) == (ROWS + 1, 0)
    for path in (tmp_path / "here").glob("*.jsonl"):
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes(), path.name


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if missing("pyspark"):
        pytest.skip("Spark is not installed")
    if shutil.which("java") is None and not os.environ.get("INCOREF_ENGINES"):
        pytest.skip("Spark needs Java 17 (apt-get install openjdk-17-jre-headless)")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executor.memory", "512m")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "16")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    yield session
    session.stop()


def test_spark_on_two_executors(spark: Any, model: Path, expected: list[Any]) -> None:
    from incoref.integrations.spark import Resolve

    rows = [(n, text, n / 2) for n, text in enumerate(TEXTS)]
    frame = spark.createDataFrame(rows, "id long, text string, half double")
    resolve = Resolve(model=str(model))
    answers = frame.mapInArrow(resolve, resolve.schema(frame)).collect()
    answers.sort(key=lambda row: row["id"])
    assert [(row["id"], row["half"]) for row in answers] == [(n, n / 2) for n in range(ROWS)]
    assert [chains(row["entities"]) for row in answers] == expected
    assert {row["error"] for row in answers} == {None}
