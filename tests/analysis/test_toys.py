"""A bicycle and a woodpecker toy: eigenvalues that were published, and a peck by matrix exponentials."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from documented import example
from scipy.linalg import expm
from scipy.optimize import brentq

import contactsim as cs

bicycle, woodpecker = example("bicycle"), example("woodpecker")

# Meijaard, Papadopoulos, Ruina, Schwab 2007, section 5b: M q'' + v C1 q' + (g K0 + v^2 K2) q = 0, q = (lean, steer).
M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])


@pytest.mark.parametrize("speed", [0.5, 3.0, 5.0, 8.0])
def test_eigenvalues_of_the_benchmark_bicycle(speed: float) -> None:
    stiffness, damping = 9.81 * K0 + speed**2 * K2, speed * C1
    matrix = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, stiffness), -np.linalg.solve(M, damping)]])
    wanted = np.linalg.eigvals(matrix)
    if speed == 5.0:  # table 2
        weave = -0.775341882195845 + 4.464867713788229j
        assert np.abs(wanted - weave).min() < 1e-12
    found = bicycle.eigenvalues(cs.ContactSystem(bicycle.bicycle()), speed)
    for value in wanted:
        assert np.abs(found - value).min() < 1e-8


class Peck:
    """The woodpecker toy between jams in closed form: each mode is linear, and its events are zeros in time."""

    def __init__(self) -> None:
        mechanism = woodpecker.toy().mechanism
        zero = np.zeros(3)
        self.mass = mechanism._mass(zero)
        self.weight = mechanism._force(0.0, zero, zero)
        force = [mechanism._force(0.0, column, zero) - self.weight for column in np.eye(3)]
        self.spring = np.array(force).T  # f = weight + spring q
        self.gaps = [
            (gap.gap(0.0, zero), gap.normal(0.0, zero), gap.tangent(0.0, zero)[0]) for gap in mechanism.contacts
        ]
        self.friction, self.bounce = mechanism.friction, mechanism.restitution

    def motion(self, contact: int | None, slip: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Generator (7, 7) of (q, v, 1), and normal and tangential force (7,) as functions of it; slip 0: sticks."""
        free = np.linalg.solve(self.mass, np.hstack([self.spring, np.zeros((3, 3)), self.weight[:, None]]))
        normal = tangential = np.zeros(7)
        if contact is not None:
            _, n, t = self.gaps[contact]
            if slip:
                rows, ways = n[None], (n - slip * self.friction[contact] * t)[None]
            else:
                rows = ways = np.array([n, t])
            answer = np.linalg.solve(self.mass, ways.T)
            forces = -np.linalg.solve(rows @ answer, rows @ free)
            free = free + answer @ forces
            normal, tangential = forces[0], (np.zeros(7) if slip else forces[1])
        generator = np.zeros((7, 7))
        generator[:3, 3:6], generator[3:6] = np.eye(3), free
        return generator, normal, tangential

    def struck(self, x: np.ndarray, contact: int) -> tuple[np.ndarray, float]:
        """State after Newton's impact at a contact, and the sense of its slip then; 0: it sticks."""
        _, n, t = self.gaps[contact]
        rows, v = np.array([n, t]), x[3:6]
        delassus, before = rows @ np.linalg.solve(self.mass, rows.T), rows @ v
        after = np.array([-self.bounce[contact] * before[0], 0.0])
        impulse, slip = np.linalg.solve(delassus, after - before), 0.0
        if abs(impulse[1]) > self.friction[contact] * impulse[0]:
            slip = -np.sign(impulse[1])
            way = np.array([1.0, -slip * self.friction[contact]])
            impulse = way * (after[0] - before[0]) / (delassus[0] @ way)
        moved = v + np.linalg.solve(self.mass, rows.T @ impulse)
        return np.r_[x[:3], moved, 1.0], slip

    def run(
        self, x: np.ndarray, contact: int | None, slip: float, ends: list[Callable]
    ) -> tuple[np.ndarray, float, int]:
        """State, duration and number of the first of the functions of (x, normal, tangential) to fall to zero."""
        generator, normal, tangential = self.motion(contact, slip)
        step, at, before, t = expm(2e-5 * generator), x, None, 0.0

        def values(y: np.ndarray) -> list[float]:
            return [end(y, normal @ y, tangential @ y) for end in ends]

        while True:
            now = values(at)
            fell = [k for k in range(len(ends)) if before is not None and before[k] > 0.0 >= now[k]]
            if fell:
                break
            before, last, at, t = now, at, step @ at, t + 2e-5
        zeros = [brentq(lambda h, k=k: values(expm(h * generator) @ last)[k], 0.0, 2e-5, xtol=1e-17) for k in fell]
        first = int(np.argmin(zeros))
        return expm(zeros[first] * generator) @ last, t - 2e-5 + zeros[first], fell[first]

    def from_jam_to_jam(self, swing: float) -> tuple[float, float]:
        """Swing of the bird where it turns in the next jam at the lower end, and the time until then."""
        lower, play = 1, self.gaps[1]
        x = np.array([0.0, -play[0] / play[1][1], swing, 0.0, 0.0, 0.0, 1.0])
        contact: int | None = lower
        slip, time, fallen = 0.0, 0.0, False
        while True:
            t = None if contact is None else self.gaps[contact][2]
            if contact is None:
                ends = [lambda y, f, g, k=k: self.gaps[k][0] + self.gaps[k][1] @ y[:3] for k in range(3)]
            elif slip:
                ends = [lambda y, f, g: f, lambda y, f, g, t=t, slip=slip: slip * (t @ y[3:6])]
            else:
                mu = self.friction[contact]
                turns = [lambda y, f, g: -y[5]] if fallen else []
                ends = [lambda y, f, g, mu=mu: mu * f - abs(g), *turns]
            x, duration, end = self.run(x, contact, slip, ends)
            time += duration
            if contact is None:
                x, slip = self.struck(x, end)
                _, normal, _ = self.motion(end, slip)
                contact = end if self.bounce[end] == 0.0 and normal @ x > 0.0 else None
            elif slip:
                contact, slip = (None, 0.0) if end == 0 else (contact, 0.0)
            elif end == 1:
                return float(x[2]), time
            else:
                slip, fallen = -np.sign(self.motion(contact, 0.0)[2] @ x), True


@pytest.mark.slow
@pytest.mark.slow
def test_the_peck_of_the_woodpecker_toy() -> None:
    """Period and multiplier of the orbit against the map from jam to jam in closed form."""
    peck, orbit = Peck(), woodpecker.peck(woodpecker.toy())
    run = orbit.trajectory
    states = [run(float(t)) for t in np.linspace(run.t[0], run.t[-1], 2000)]
    about = min(state.q[2] for state in states if np.abs(state.v[:2]).max() < 1e-9)
    swing = brentq(lambda s: peck.from_jam_to_jam(s)[0] - s, about - 0.005, about + 0.005, xtol=1e-15)
    assert orbit.period == pytest.approx(peck.from_jam_to_jam(swing)[1], abs=1e-9)
    h = 1e-6
    slope = (peck.from_jam_to_jam(swing + h)[0] - peck.from_jam_to_jam(swing - h)[0]) / (2.0 * h)
    assert woodpecker.largest(orbit) == pytest.approx(slope, abs=1e-6)


def test_a_beak_that_stays_stops_with_its_sleeve_at_once() -> None:
    """Beak and sleeve slip in step, and stop at once: which is said to stop first is no matter to what can happen."""
    system = woodpecker.toy(0.0)
    start = cs.simulate(system, woodpecker.START, (0.0, 0.39)).final  # falls, up to its beak
    sharp = cs.Tolerances(rtol=1e-11, atol=1e-13)

    def final(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        end = cs.simulate(system, cs.State(q, v), (0.0, 0.04), tolerances=sharp).final
        return np.r_[end.q, end.v]

    lin = cs.linearize(cs.simulate(system, start, (0.0, 0.04), tolerances=sharp))
    stopped = next(event for event in lin.events if event.contacts == ("beak",))
    assert len(stopped.pieces()) > 1 and stopped.differentiable
    differences = []
    for change in 1e-6 * np.eye(6):
        ends = [final(start.q + k * change[:3], start.v + k * change[3:]) for k in (-1.0, 1.0)]
        differences.append((ends[1] - ends[0]) / 2e-6)
    np.testing.assert_allclose(lin.matrix(), np.transpose(differences), rtol=1e-5, atol=1e-5)
