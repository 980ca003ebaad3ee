"""Brakes of the museum's clocks, each with its way to halt."""


class Brake1:
    def halt(self):
        return 0


class Brake2:
    def halt(self):
        return 1


class Brake3:
    def halt(self):
        return 2


class Brake4:
    def halt(self):
        return 3


class Brake5:
    def halt(self):
        return 4


class Brake6:
    def halt(self):
        return 5


class Brake7:
    def halt(self):
        return 6


class Brake8:
    def halt(self):
        return 7


class Brake9:
    def halt(self):
        return 8


class Brake10:
    def halt(self):
        return 9


class Brake11:
    def halt(self):
        return 10


class Brake12:
    def halt(self):
        return 11


class Brake13:
    def halt(self):
        return 12


class Brake14:
    def halt(self):
        return 13


class Brake15:
    def halt(self):
        return 14


class Brake16:
    def halt(self):
        return 15


class Brake17:
    def halt(self):
        return 16


class Brake18:
    def halt(self):
        return 17


class Brake19:
    def halt(self):
        return 18


class Brake20:
    def halt(self):
        return 19
