seed 445053
setting jobs=ps:1,worker:2 clients=2 lanes=1 restart=3 down=6.336 snapshot_every=2.144 lease=4.545 shuffle=0
client 1.0: meet at=1 pause=0.01853 limit=1.667
client 1.0: add v=0 k=1 via=-1 pause=0.09792
client 1.0: add v=2 k=3 via=-1 pause=0.08937
client 1.0: meet at=5 pause=0.007397 limit=0.7637
client 1.0: save n=1 at=1 pause=0.04205 limit=0.0244
client 0.0: reduce x=50 pause=0.04298
client 1.0: add v=2 k=9 via=-1 pause=0.0248
fault 0.472343 cut worker-0 client-1
fault 0.772078 power worker-1 after 136
fault 0.777287 kill client-0 for 0.0186953
fault 0.954612 power ps-0 after 8
fault 1.48048 kill client-1 for 0.347689
fault 2.25037 leave worker-1 after 213
