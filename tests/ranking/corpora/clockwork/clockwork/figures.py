"""Figures that move at noon, one after the other."""

from clockwork.gear import turn_gear


def show_sun(stage):
    turn_gear(stage.sun, 3)


def show_moon(stage):
    turn_gear(stage.moon, 3)


def show_star(stage):
    turn_gear(stage.star, 3)


def show_cock(stage):
    turn_gear(stage.cock, 3)


def show_lion(stage):
    turn_gear(stage.lion, 3)


def show_king(stage):
    turn_gear(stage.king, 3)


def show_queen(stage):
    turn_gear(stage.queen, 3)


def show_fool(stage):
    turn_gear(stage.fool, 3)


def show_monk(stage):
    turn_gear(stage.monk, 3)


def show_death(stage):
    turn_gear(stage.death, 3)


def show_angel(stage):
    turn_gear(stage.angel, 3)


def show_dragon(stage):
    turn_gear(stage.dragon, 3)


def show_knight(stage):
    turn_gear(stage.knight, 3)


def show_smith(stage):
    turn_gear(stage.smith, 3)
