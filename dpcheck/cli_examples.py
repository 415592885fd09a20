"""What the help of each command shows: lines that can be typed as they are, where their files exist."""

from __future__ import annotations

EXAMPLES = {
    "check": (
        "dpcheck check privatediff",
        "dpcheck check dp_sgda --json-output report.json --html-output report.html",
        "dpcheck check privatediff --explain privatediff.as_printed.transcript",
        "dpcheck check path/to/mine.py    # a file that declares a dpcheck.Algorithm",
        "dpcheck check --profile full --store runs --backend dask --scheduler tcp://host:8786",
    ),
    "list": ("dpcheck list", "dpcheck list --format csv"),
    "show": (
        "dpcheck show yang2022.theorem_2a",
        "dpcheck show yang2022.theorem_1 n=10000 epsilon=0.5 delta=1e-8 T=100 G_w=1 G_v=2",
        "dpcheck show yang2022.theorem_2a --latex",
    ),
    "prove": (
        "dpcheck prove 003:Thm5 --explain    # a claim",
        "dpcheck prove yang2022.theorem_2a   # the claims of a theorem",
        "dpcheck prove zhang2025 lemma 8     # the claims with these words",
        "dpcheck prove yang2022 --format markdown",
        "dpcheck prove lemma.py              # claims of your own",
    ),
    "audit": (
        "dpcheck audit mechanism:noisy_mean --data '[23, 35, 18]' --neighbour '[23, 35, 90]' --epsilon 0.5",
        "dpcheck audit mechanism:noisy_mean --data data.npy --neighbour neighbour.npy --epsilon 1 --delta 1e-5",
        "dpcheck audit --all --format github --sarif-output privacy.sarif    # the mechanisms of pyproject.toml",
    ),
    "certify": (
        "dpcheck certify --multiplier 1.1 --batch 256 --population 60000 --steps 10000 --delta 1e-5",
        "dpcheck certify --epsilon 2 --batch 256 --population 60000 --steps 10000 --delta 1e-5",
        "dpcheck certify events.json --delta 1e-5",
        "dpcheck certify --multiplier 4 --encoder tree --steps 512 --delta 1e-5",
    ),
    "bugs": ("dpcheck bugs", "dpcheck bugs lower-bound-twice", "dpcheck bugs all --format html > bugs.html"),
    "rate": (
        "dpcheck rate gaps.csv --response gap --factors n --claimed n=-1/2",
        "dpcheck rate gaps.csv --response gap --factors n,d --theorem yang2022.theorem_2a G_w=1 G_v=1",
    ),
    "measure": ("dpcheck measure phased_primal --vary n=2^10..2^14 --seeds 20 --output gaps.csv",),
    "reproduce": (
        "dpcheck reproduce",
        "dpcheck reproduce xu2026.table_2 --store runs",
        "dpcheck reproduce yang2022.table_2 --only ijcnn1,epsilon=1 --format markdown",
        "dpcheck reproduce xu2026.figure_1 --plot paths.png",
    ),
    "history": ("dpcheck history runs",),
    "compare": (
        "dpcheck compare before.json after.json",
        "dpcheck compare runs:1 runs",
        "dpcheck compare runs:3f2a9c1 runs:e84d07b    # what two commits found",
    ),
    "solve": (
        "dpcheck solve dp_sgda steps=500 sampling=poisson --plot history.png",
        "dpcheck solve dp_sgda --data a9a --epsilon 1",
        "dpcheck solve dp_sgda --like yang2022.table_2:ijcnn1 batch=256",
    ),
    "report": (
        "dpcheck report report.json --verbose",
        "dpcheck report report.json --format junit --output report.xml",
        "dpcheck report report.json --explain privatediff.as_printed.transcript",
        "dpcheck report xu2026.table_2 --format latex    # the kept runs of `dpcheck reproduce`",
    ),
}


def epilog(command: str) -> str:
    """The examples of a command, for the end of its help."""
    return "examples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[command])
