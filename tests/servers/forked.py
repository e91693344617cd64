"""Has another process serve this one's stdio: `forked.py SOCKET ARGUMENT ...`, for `full.py fork`."""

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    socket.send_fds(connection, [json.dumps(sys.argv[2:]).encode()], [0, 1, 2])
    for number in (0, 1, 2):  # the other process has them now, and only its end may close them
        os.close(number)
    connection.recv(1)
