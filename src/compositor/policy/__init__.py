"""The enforcement line: pure rules that decide whether a tool call may happen (R012, R363).

Decides from the call, the rules people wrote and the paths the driver resolved. It never reads what the model was told:
this folder imports nothing of the context line, and no text can change a verdict (R359).

Arrows inside the folder point down: gate > decide | visibility > match | modes > subject > commands |
reach > shell | paths | rules > policy.
"""
