"""The API's JSON: validated requests, and responses for the OpenAPI document.

The response classes are only descriptive: answers are taken from the log, where they are already JSON.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, WithJsonSchema

from incoref.model.transitions import Action

_MOST = 2**53 - 1
_NAME = 500


def _string(value: Any, longest: int | None = None) -> str:
    """Validate text, including lone surrogates, which pydantic rejects but sessions accept."""
    if not isinstance(value, str):
        raise ValueError("it must be a string")
    if longest is not None and len(value) > longest:
        raise ValueError(f"it must have at most {longest} characters")
    return value


def _short_string(value: Any) -> str:
    return _string(value, _NAME)


# FastAPI looks types up at run time; these are aliases of Any for it, and of str for people and type checkers.
Text = Annotated[Any, AfterValidator(_string), WithJsonSchema({"type": "string"})]
Name = Annotated[Any, AfterValidator(_short_string), WithJsonSchema({"type": "string", "maxLength": _NAME})]
OptionalName = Annotated[
    Any,
    AfterValidator(lambda value: None if value is None else _short_string(value)),
    WithJsonSchema({"anyOf": [{"type": "string", "maxLength": _NAME}, {"type": "null"}]}),
]
Whole = Annotated[int, Field(ge=-_MOST, le=_MOST)]
Given = Annotated[str, Field(max_length=_NAME)] | Whole | FiniteFloat | None
Sequence = Annotated[
    int | None,
    Field(
        ge=0,
        le=_MOST,
        description="A number that you assign to this request, higher than earlier ones. If you get no response, "
        "repeat the request with the same number: it is executed once, and the response is the same.",
    ),
]

SPEAKER = Field(default=None, description="The speaker.", examples=["Anna"])


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Options(Request):
    """The options of a new session."""

    setting: Annotated[
        Annotated[str, Field(pattern=r"^(sent-inc|part-inc|k=[1-9][0-9]?)$")] | None,
        Field(description="Sentences read at a time; null means what the model was trained for."),
    ] = None
    scheme: Annotated[str | None, Field(max_length=50, description="One of the model's annotation schemes.")] = None
    genre: Annotated[str, Field(max_length=50, description="One of the model's genres.")] = "unknown"
    eviction: Annotated[Literal["none", "lru", "dual", "icoref"], Field(description="Eviction policy.")] = "dual"
    max_entities: Annotated[int | None, Field(ge=1, le=10_000, description="Maximum entities to remember.")] = None
    idle: Annotated[int, Field(ge=1, le=_MOST, description="Idle tokens, for the eviction policy icoref.")] = 600
    history: Annotated[int | None, Field(ge=0, le=_MOST, description="Sentences to keep; null keeps all.")] = None
    undo: Annotated[int, Field(ge=0, le=100, description="Number of undo steps.")] = 20
    trace: Annotated[bool, Field(description="Whether updates include the actions.")] = False
    runners_up: Annotated[int, Field(ge=0, le=20, description="Number of alternatives per mention.")] = 0


class NewSession(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"options": {"trace": True, "runners_up": 3}}]})

    options: Options = Field(default_factory=Options)


class FeedRequest(Request):
    """Text for a session: a complete utterance, or, with ``final`` false, a piece of running text."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "I called Ben. He is late.", "speaker": "Anna", "sequence": 1},
                {"text": "The river ro", "final": False},
                {"words": ["Do", "n't", "tell", "Anna", "!"], "text": "Don't tell Anna!"},
            ]
        }
    )

    text: Text | None = Field(default=None, description="The text; optional if the words are given.")
    words: Annotated[list[Text] | None, Field(max_length=100_000, description="The words of one sentence.")] = None
    speaker: OptionalName = SPEAKER
    final: bool = Field(default=True, description="Whether the text is a complete utterance.")
    id: Given = Field(default=None, description="Your value, returned with the updates.")
    time: Given = Field(default=None, description="Your value, returned with the updates.")
    sequence: Sequence = None


class SequenceRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"sequence": 7}]})

    sequence: Sequence = None


class GivenSentence(Request):
    start: Annotated[int, Field(ge=0, le=_MOST)]
    end: Annotated[int, Field(ge=0, le=_MOST)]
    speaker: OptionalName = SPEAKER
    tokens: Annotated[list[Annotated[list[Any], Field(min_length=3, max_length=3)]], Field(max_length=100_000)] = (
        Field(default_factory=list, description="Text, start and end of each token.")
    )


class GivenDocument(Request):
    """A document with its own sentences and tokens."""

    id: Name = "document"
    text: Text
    sentences: Annotated[list[GivenSentence], Field(max_length=100_000)]


class ReadRequest(Request):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "document": {
                        "text": "Anna left.",
                        "sentences": [
                            {"start": 0, "end": 10, "tokens": [["Anna", 0, 4], ["left", 5, 9], [".", 9, 10]]}
                        ],
                    }
                }
            ]
        }
    )

    document: GivenDocument
    sequence: Sequence = None


class IntroduceRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Anna Kern", "speaker": "anna"}]})

    name: Name
    type: OptionalName = Field(default=None, description="One of the model's types, such as person or place.")
    speaker: OptionalName = Field(default=None, description='The speaker whose "I" refers to it.')
    sequence: Sequence = None


class RenameRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Anna Kern-Weber"}]})

    name: Name
    sequence: Sequence = None


class MergeRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"other": "4"}]})

    other: Name = Field(description="Id of the entity to merge in; its mentions move, and it is removed.")
    sequence: Sequence = None


class MentionPlace(Request):
    """A mention, identified by its offsets in the session's text."""

    start: Annotated[int, Field(ge=0, le=_MOST)]
    end: Annotated[int, Field(ge=0, le=_MOST)]


class DetachRequest(MentionPlace):
    model_config = ConfigDict(json_schema_extra={"examples": [{"start": 18, "end": 20}]})

    sequence: Sequence = None


class ReassignRequest(MentionPlace):
    model_config = ConfigDict(json_schema_extra={"examples": [{"start": 18, "end": 20, "entity": "2"}]})

    entity: Name = Field(description="Id of the entity that the mention refers to.")
    sequence: Sequence = None


class SplitRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"mentions": [{"start": 18, "end": 20}]}]})

    mentions: Annotated[list[MentionPlace], Field(min_length=1, max_length=10_000)] = Field(
        description="The mentions to split off."
    )
    sequence: Sequence = None


class Utterance(Request):
    text: Text | None = None
    words: Annotated[list[Text] | None, Field(max_length=100_000)] = None
    speaker: OptionalName = SPEAKER


class ResolveRequest(Request):
    """A whole text: raw, or as utterances with speakers, possibly tokenised."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "Anna called Ben. She asked him to bring her notes."},
                {"utterances": [{"text": "I called Ben.", "speaker": "Anna"}, {"text": "He is late."}]},
                {"utterances": [{"words": ["Anna", "left", "."]}, {"words": ["She", "was", "late", "."]}]},
            ]
        }
    )

    text: Text | None = None
    utterances: Annotated[list[Utterance] | None, Field(min_length=1, max_length=100_000)] = None
    singletons: bool = Field(default=False, description="Include entities with one mention.")
    scheme: Annotated[str | None, Field(max_length=50)] = None
    genre: Annotated[str, Field(max_length=50)] = "unknown"
    runners_up: Annotated[int, Field(ge=0, le=20)] = 0


class RecogniseRequest(Request):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "Anna: I called Ben.\nCarl: Is he late?"}, {"text": '{"a": 1}'}]}
    )

    text: Text
    name: Name = Field(default="text", description="Name for error messages, such as the file name.")


class ImportRequest(RecogniseRequest):
    sequence: Sequence = None


class RecognisedTurn(BaseModel):
    text: str
    speaker: str | None
    id: str | None
    time: str | None


class Recognised(BaseModel):
    format: str = Field(description="Name of the format, as in docs/formats.md; text for plain text.")
    about: str
    turns: list[RecognisedTurn]


class RunnerUp(BaseModel):
    entity: str | None = Field(description="Null means a new entity.")
    confidence: float


class UpdateMention(BaseModel):
    start: int
    end: int
    text: str
    tokens: list[int] = Field(description="Half-open range of tokens.")
    entity: str
    new: bool
    confidence: float
    mention_confidence: float
    runners_up: list[RunnerUp] = []


ActionName = Annotated[str, WithJsonSchema({"type": "string", "enum": [action.name for action in Action]})]


class TraceStep(BaseModel):
    action: ActionName
    token: int
    probabilities: dict[str, float]
    mention: list[int] | None = None


class Update(BaseModel):
    """The result for one sentence."""

    sentence: int
    text: str
    start: int
    end: int
    speaker: str | None
    id: str | int | float | None
    mentions: list[UpdateMention]
    elapsed_ms: float
    time: str | int | float | None = None
    evicted: list[str] = []
    warnings: list[str] = []
    trace: list[TraceStep] = []


class Answer(BaseModel):
    event: int = Field(description="Number of this change in the session, after which events can be resumed.")
    sequence: int | None = Field(description="The sequence number of your request.")


class Updates(Answer):
    updates: list[Update]
    state: SessionState | None = Field(
        default=None, description="Only if `since` was given: the session from there on."
    )


class Undone(Answer):
    sentences: int = Field(description="Number of sentences so far.")


class Mention(BaseModel):
    start: int
    end: int
    text: str
    tokens: list[int] | None = None
    sentence: int
    entity: str | None = None
    confidence: float | None
    mention_confidence: float | None
    new: bool | None = None
    runners_up: list[RunnerUp] = []


class Entity(BaseModel):
    id: str
    name: str | None = None
    type: str | None = None
    speaker: str | None = None
    mentions: list[Mention]


class Corrected(Answer):
    entity: Entity
    gone: str | None = Field(default=None, description="Id of the entity that was removed.")


class Forgotten(Answer):
    gone: str


class Created(BaseModel):
    id: str = Field(description="128 random bits. Anyone who knows it can use the session.")


class Shared(BaseModel):
    view: str = Field(description="Anyone who knows it can view the session, but not change it.")
    path: str


class Line(BaseModel):
    start: int
    end: int
    speaker: str | None


class SessionView(BaseModel):
    """The current state of a session."""

    text: str
    text_start: int = Field(description="Offset of the kept text; offsets count from the start of the session.")
    sentences: int
    tokens: int
    lines: list[Line] = Field(description="The sentences.")
    entities: list[Entity]
    resolved_text: str | None = Field(description="Null if since was given.")
    event: int


class SessionState(SessionView):
    id: str
    sequence: int | None = Field(description="The highest sequence number so far; null if there is none.")
    options: dict[str, Any]


class Resolved(BaseModel):
    text: str
    sentences: list[dict[str, Any]]
    entities: list[Entity]


class Candidate(BaseModel):
    entity: str | None = Field(description="Null means a new entity.")
    name: str | None
    probability: float
    chosen: bool


class DecisionToken(BaseModel):
    number: int
    text: str
    start: int
    end: int


class DecisionStep(TraceStep):
    stack: list[int] = Field(
        description="Tokens on the stack before the action: starts of open mentions, latest on top."
    )


class DecisionOfMention(BaseModel):
    """The decisions behind a mention and its entity."""

    mention: UpdateMention
    sentence: int
    candidates: list[Candidate] = Field(description="As many as the session's option runners_up allows.")
    tokens: list[DecisionToken]
    trace: list[DecisionStep] = Field(description="Empty unless the session has the option trace.")


class Problem(BaseModel):
    """RFC 9457 problem details. Some types have further members: ``limit``, ``last``, ``errors``."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
