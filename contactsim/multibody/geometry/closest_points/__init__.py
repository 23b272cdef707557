"""Closest points of smooth features of two bodies, their normal and how these move: plain arrays, no engine."""
