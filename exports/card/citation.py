"""How a release is cited."""


def bibtex(campaign: str, number: int) -> str:
    """No year: a release holds no clock time. Whoever cites it adds the manifest's sha256."""
    name = campaign.replace("_", r"\_")
    return (
        f"@misc{{{campaign}-{number},\n"
        f"  title   = {{{{{name}: a question-ranking dataset}}}},\n"
        f"  version = {{release {number}}},\n"
        "  note    = {Built with Quorum}\n"
        "}"
    )
