"""The emitted files in action: the real opensm on simulated switches (ibsim), judged from outside."""
