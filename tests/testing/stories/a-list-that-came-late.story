seed 8621
setting jobs=ps:2,worker:2 clients=2 lanes=1 restart=1000 down=4.698 snapshot_every=1.925 lease=3.235 shuffle=0
client 0.0: take q=0 via=-1 pause=0.001345 limit=1.23
fault 0.13035 power worker-0 after 93
fault 0.135213 end ps-0 after 11
fault 0.251929 leave ps-0 after 301
