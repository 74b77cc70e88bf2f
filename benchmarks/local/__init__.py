"""The local cluster compared with a real kube-apiserver and etcd, and under load."""
