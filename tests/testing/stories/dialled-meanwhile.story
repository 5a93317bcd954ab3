seed 447879
setting jobs=worker:2 clients=2 lanes=2 restart=0 down=8.47 snapshot_every=2.633 lease=4.826 shuffle=1
client 0.1: meet at=24 pause=0.02687 limit=0.0625
client 0.0: compute a=0 b=0 x=3 pause=0.308
client 0.1: add v=0 k=46 via=-1 pause=0.404
client 1.1: restore n=4 at=1 pause=0.309
client 1.0: take q=0 via=1 pause=0.04809 limit=0.004191
client 0.1: put q=0 e=21 via=-1 pause=0.0295
fault 0.223881 stall worker-0 for 15.182
fault 4.64134 power worker-0 after 245
