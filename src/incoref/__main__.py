"""``python -m incoref`` is the command-line tool."""

from incoref.cli import main

main()
