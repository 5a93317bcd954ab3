seed 200133
setting jobs=ps:2,worker:2 clients=2 lanes=1 restart=1000 down=4.411 snapshot_every=0.0 lease=5.002 shuffle=1
client 0.0: take q=0 via=2 pause=0.003165 limit=0.9803
client 0.0: meet at=18 pause=0.002834 limit=0.08652
client 1.0: meet at=19 pause=0.002834 limit=0.08652
client 0.0: compute a=2 b=1 x=100 pause=0.03253 limit=1.879
fault 0.0533398 mute worker-0 ps-1 for 2.91438
fault 0.106647 mute client-1 worker-1 for 9.84259
fault 0.260991 cut client-1 worker-0
