seed 402518
setting jobs=worker:2 clients=3 lanes=2 restart=0 down=8.565 snapshot_every=0.0 lease=2.912 shuffle=0
client 0.0: put q=1 e=0 via=-1 pause=0.01072 cancel=0.01746
client 1.0: reduce x=1 pause=0.0008951
client 2.0: save n=0 at=1 pause=0.01792 limit=0.08625
client 0.1: compute a=0 b=1 x=1 pause=0.0009371
client 1.1: compute a=0 b=0 x=1 pause=0.003446
client 2.1: visit a=0 x=50 pause=0.001093
client 1.0: compute a=0 b=1 x=100 pause=0.006687 cancel=0.2056
client 0.1: compute a=0 b=0 x=1 pause=0.004685
client 1.1: pair v=1 k=1 w=0 l=1 pause=0.005262
client 2.1: pair v=0 k=2 w=1 l=2 pause=0.005572
client 0.1: add v=0 k=3 via=0 pause=0.001129
client 0.1: pair v=0 k=46 w=1 l=34 pause=0.006498
fault 0.000905268 leave worker-1 after 215
fault 0.001672 join worker
fault 0.0390002 crash worker-1 after 212
fault 0.0554803 join worker
fault 0.0577652 slow worker-1 client-1 by 0.00389124 for 1.13014
fault 0.166899 restart worker-1 after 333
fault 0.175919 stall worker-0 for 0.0169424
fault 0.179673 restart worker-0 after 204
