seed 448878
setting jobs=ps:2,worker:2 clients=2 lanes=1 restart=3 down=8.889 snapshot_every=0.0 lease=2.484 shuffle=0
client 1.0: put q=1 e=25 via=-1 pause=0.05715
client 1.0: take q=0 via=-1 pause=0.01048 limit=2.214
client 0.0: take q=0 via=1 pause=0.0005355 limit=0.3916
client 1.0: extend a=0 b=1 x=100 n=4 pause=0.03007
client 0.0: compute a=0 b=1 x=1 pause=0.0002236
client 0.0: partial a=1 b=1 x=3 pause=0.01235
client 1.0: compute a=0 b=1 x=100 pause=0.02169
client 0.0: add v=3 k=17 via=1 pause=0.06165 limit=0.001894
fault 0.210838 leave worker-1 after 385
fault 2.30478 stall worker-0 for 19.1322
