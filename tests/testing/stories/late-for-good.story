seed 403506
setting jobs=ps:1,worker:2 clients=2 lanes=3 restart=3 down=2.094 snapshot_every=0.212 lease=4.441 shuffle=0
client 0.2: take q=1 via=1 pause=0.003973 limit=6.268
client 0.2: add v=1 k=25 via=1 pause=0.0163
client 1.2: add v=0 k=21 via=-1 pause=0.02695 cancel=1.703
client 0.0: add v=2 k=27 via=1 pause=0.009826 limit=0.6835
client 1.1: save n=1 at=0 pause=0.0001535
client 0.2: reduce x=1 pause=0.002707
client 1.2: put q=1 e=24 via=-1 pause=0.02558 cancel=0.006433
client 1.2: compute a=1 b=2 x=100 pause=0.01096
client 1.0: pair v=2 k=29 w=0 l=23 pause=0.02075
client 0.1: reduce x=50 pause=0.004461
client 1.0: take q=0 via=1 pause=0.003958 limit=0.00422
client 1.1: partial a=1 b=2 x=100 pause=0.07009 cancel=6.949
client 1.2: extend a=1 b=2 x=100 n=2 pause=0.02526
client 0.0: compute a=1 b=2 x=3 pause=0.01054
client 1.0: partial a=1 b=2 x=3 pause=0.03098
client 0.1: put q=1 e=25 via=1 pause=0.03654
client 1.1: put q=0 e=26 via=-1 pause=0.02077
client 0.0: extend a=1 b=2 x=100 n=3 pause=0.002131
client 1.0: add v=1 k=31 via=-1 pause=0.01241
client 0.1: add v=1 k=32 via=1 pause=0.006326
fault 0.00313976 ghost ps-0 worker-0 by 1.4059 for 3.70097
fault 0.0555127 power worker-0 after 102
fault 0.200223 crash ps-0 after 40
fault 0.22154 ghost worker-0 ps-0 by 1.49915 for 5.53529
