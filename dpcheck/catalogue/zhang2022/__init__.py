"""Zhang, Thekumparampil, Oh, He 2022: output perturbation, in one phase and in many."""
