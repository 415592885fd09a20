"""A configuration is a schedule read once: the theorem's numbers, save those that are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.schedule import Schedule, Sizes
from dpcheck.errors import require, require_delta, require_positive


class Configured:
    """What sets an algorithm up.

    Attributes
    ----------
    variants : tuple of str
        ``"as_printed"`` and, where the paper as published cannot stand, ``"repaired"``.
    theorems : tuple of str
        The theorems that there are schedules by, where there are several; the first is meant where none is named.
    schedules : mapping
        Variant, or (theorem, variant), to the class with its numbers, which are the options of :meth:`configure`.
    """

    variants: ClassVar[tuple[str, ...]] = ("as_printed", "repaired")
    theorems: ClassVar[tuple[str, ...]] = ()
    schedules: ClassVar[Mapping[Any, type[Schedule]]]

    @classmethod
    def schedule_of(cls, variant: str, overrides: Mapping[str, Any]) -> type[Schedule]:
        """Return the class with the numbers of a variant, and of the theorem among the overrides where one is named.

        Parameters
        ----------
        variant : str
            One of ``variants``.
        overrides : mapping
            Numbers in place of the schedule's, and the theorem.

        Returns
        -------
        type
            A :class:`~dpcheck.algorithms.schedule.Schedule`.
        """
        if not cls.theorems:
            return cls.schedules[variant]
        theorem = str(overrides.get("theorem", cls.theorems[0]))  # a command line reads 1 as a number
        known = f"be {', '.join(cls.theorems[:-1])} or {cls.theorems[-1]}"
        require(theorem in cls.theorems, "theorem", known, theorem)
        return cls.schedules[theorem, variant]

    @classmethod
    def scheduled(
        cls, problem: Problem, *, epsilon: float, delta: float, variant: str | None = None, **overrides: Any
    ) -> Schedule:
        """Return the numbers of a configuration, as :meth:`configure` takes them.

        Parameters
        ----------
        problem : Problem
            The objective with its n records; neighbours replace one record.
        epsilon, delta : float
            Claimed privacy: epsilon > 0 (natural log), delta in (0, 1).
        variant : str, optional
            One of ``variants``; the last of them by default.
        **overrides : object
            Numbers in place of the schedule's.

        Returns
        -------
        Schedule
            The numbers, each computed when it is read.
        """
        variant = cls.variants[-1] if variant is None else variant
        require_positive(epsilon, "epsilon")
        require_delta(delta, zero=False)
        require(variant in cls.variants, "variant", f"be one of {', '.join(cls.variants)}", variant)
        sizes = Sizes(len(problem.records), max(problem.dim_w, problem.dim_v), epsilon, delta)
        schedule = cls.schedule_of(variant, overrides)(cls, problem, sizes, overrides)
        schedule.require()
        return schedule

    @classmethod
    def configure(
        cls, problem: Problem, *, epsilon: float, delta: float, variant: str | None = None, **overrides: Any
    ) -> Self:
        """Set up the algorithm with its theorem's schedule, save the numbers that are given.

        Parameters
        ----------
        problem : Problem
            The objective with its n records; neighbours replace one record.
        epsilon, delta : float
            Claimed privacy: epsilon > 0 (natural log), delta in (0, 1).
        variant : {"repaired", "as_printed"}, optional
            ``"as_printed"`` follows the paper as published, ``"repaired"`` mends what cannot stand there; the last
            of ``variants`` by default.
        **overrides : object
            Numbers in place of the schedule's, by the names that the classes in ``schedules`` describe. What follows
            from a number follows from the one that is given.

        Returns
        -------
        Solver
            The configuration.

        Raises
        ------
        InputError
            For an unknown number, values outside their domain, and a problem that the algorithm is not made for.

        References
        ----------
        The algorithm's paper and place: ``paper`` and ``source``, and those of its ``schedules``.

        Examples
        --------
        >>> from dpcheck.problems import example
        >>> from dpcheck.solvers import algorithm
        >>> algorithm("nseg").configure(example("bilinear"), epsilon=1.0, delta=1e-5, steps=50, batch=4).eta
        0.07071067811865475
        """
        schedule = cls.scheduled(problem, epsilon=epsilon, delta=delta, variant=variant, **overrides)
        return cls.of(schedule)

    @classmethod
    def of(cls, schedule: Schedule) -> Self:
        """Return the configuration with the numbers of a schedule.

        Parameters
        ----------
        schedule : Schedule
            The numbers.

        Returns
        -------
        Solver
            The configuration.
        """
        numbers = {}
        for field in fields(cls):  # type: ignore[arg-type]
            numbers[field.name] = getattr(schedule, schedule.fields.get(field.name, field.name))
        return cls(**numbers)
