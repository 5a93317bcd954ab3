seed 100234
setting jobs=ps:1,worker:2 clients=2 lanes=1 restart=0 down=0.6772 snapshot_every=0.0 lease=3.081 shuffle=0
client 0.0: meet at=0 pause=0.0306 limit=0.02271
client 0.0: add v=0 k=1 via=1 pause=0.01972
client 0.0: compute a=2 b=1 x=100 pause=0.02439
client 0.0: compute a=1 b=0 x=3 pause=0.01908 cancel=0.009705
client 0.0: take q=1 via=1 pause=0.01364 limit=0.01048
client 0.0: add v=1 k=2 via=1 pause=0.03564
client 0.0: add v=2 k=3 via=-1 pause=0.01552 limit=0.1643
client 0.0: reopen pause=0.01982
client 0.0: put q=1 e=1 via=1 pause=0.003796
fault 0.211174 restart worker-1 after 127
fault 0.453956 slow worker-1 worker-0 by 0.253872 for 0.697213
fault 0.608172 kill client-0 for 2.47602
