"""The local cluster beside a real kube-apiserver and etcd, and under load."""
