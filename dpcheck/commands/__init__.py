"""The commands of ``dpcheck``, one a file: what its help says, its options, and what it runs. No mathematics here.

A new one is a file like :mod:`dpcheck.commands.show`, named below where ``dpcheck --help`` is to list it.
"""

from __future__ import annotations

from dpcheck.commands.audit import AUDIT
from dpcheck.commands.bugs import BUGS
from dpcheck.commands.certify import CERTIFY
from dpcheck.commands.check import CHECK
from dpcheck.commands.command import Command
from dpcheck.commands.compare import COMPARE
from dpcheck.commands.history import HISTORY
from dpcheck.commands.list import LIST
from dpcheck.commands.measure import MEASURE
from dpcheck.commands.prove import PROVE
from dpcheck.commands.rate import RATE
from dpcheck.commands.report import REPORT
from dpcheck.commands.reproduce import REPRODUCE
from dpcheck.commands.show import SHOW
from dpcheck.commands.solve import SOLVE

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        CHECK,
        LIST,
        SHOW,
        PROVE,
        AUDIT,
        CERTIFY,
        BUGS,
        RATE,
        MEASURE,
        REPRODUCE,
        HISTORY,
        COMPARE,
        SOLVE,
        REPORT,
    )
}
