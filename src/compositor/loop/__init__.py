"""The joint: three small sans-IO machines (turn, attempt, batch), each one table. They ask for effects and perform none."""
