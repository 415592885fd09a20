"""How the help of a command is laid out."""

from __future__ import annotations

import argparse
import textwrap


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help whose paragraphs fit the terminal, while examples, which stand further in, stay as they can be typed."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap each paragraph."""
        return "\n\n".join(
            "\n".join(indent + line for line in part.splitlines())
            if "\n  " in part
            else textwrap.fill(" ".join(part.split()), width, initial_indent=indent, subsequent_indent=indent)
            for part in text.split("\n\n")
        )
