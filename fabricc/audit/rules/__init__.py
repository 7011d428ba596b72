"""Everything that can be said of a fabric of others from its facts alone: no plan, no spec, nothing assumed unsaid."""

from fabricc.audit.rules.proved import Asked
from fabricc.audit.rules.whole import Examined, asked, examine, findings

__all__ = ["Asked", "Examined", "asked", "examine", "findings"]
