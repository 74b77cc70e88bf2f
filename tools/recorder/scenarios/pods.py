"""Scenarios about pods and nodes: preemption, node names, affinity, images, declared features."""

from __future__ import annotations

from random import Random

from tools.recorder.scenarios.objects import (
    HOSTNAME,
    NAMESPACES,
    ZONE,
    Object,
    budget,
    config,
    labelled,
    node,
    nodes,
    pod,
    running,
)

APPS = ("api", "web", "db")


def full_cluster(draw: Random) -> Object:
    """Return nodes without room."""
    cluster = nodes(draw, 2, 5)
    apps = [draw.choice(APPS) for _ in range(30)]
    pods = []
    for one in cluster:
        free = int(one["status"]["allocatable"]["cpu"])
        while free > 0 and len(pods) < len(apps):
            number = len(pods)
            cpu = min(free, draw.choice((1, 2, 3)))
            made = running(
                f"old-{number}",
                one["metadata"]["name"],
                number,
                priority=draw.choice((0, 10, 100, 1000)),
                cpu=str(cpu),
            )
            pods.append(labelled(made, app=apps[number]))
            free -= cpu
    if draw.random() < 0.3:
        cluster[0]["spec"]["taints"] = [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]
    scenario: Object = {"nodes": cluster, "pods": pods}
    if draw.random() < 0.4:
        labels = {"app": draw.choice(APPS)}
        scenario["pdbs"] = [budget("budget", labels, draw.choice((0, 1)))]
    return scenario


def preemptor(name: str, draw: Random) -> Object:
    """Return a pod that may preempt."""
    cpu = draw.choice(("1", "2", "3500m"))
    return pod(name, cpu=cpu, priority=draw.choice((500, 2000)))


def preemption(draw: Random) -> Object:
    """Return a full cluster and a pod that may preempt."""
    incoming = preemptor("incoming", draw)
    if draw.random() < 0.2:
        incoming["spec"]["preemptionPolicy"] = "Never"
    return {**full_cluster(draw), "pod": incoming}


def preemption_sequence(draw: Random) -> Object:
    """Return a full cluster and pods that preempt in turn."""
    incoming = [preemptor(f"new-{number}", draw) for number in range(draw.randint(3, 6))]
    return {**full_cluster(draw), "podSequence": incoming, "applyPreemption": True}


def node_name(draw: Random) -> Object:
    """Return a pod that names a node, among nodes that may refuse it for other reasons too."""
    cluster = nodes(draw)
    for one in cluster:
        if draw.random() < 0.4:
            one["spec"]["unschedulable"] = True
        if draw.random() < 0.3:
            one["spec"]["taints"] = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
    names = [one["metadata"]["name"] for one in cluster]
    incoming = pod("incoming")
    if draw.random() < 0.8:
        incoming["spec"]["nodeName"] = draw.choice([*names, "missing"])
    if draw.random() < 0.3:
        incoming["spec"]["tolerations"] = [{"operator": "Exists"}]
    if draw.random() < 0.3:
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": names[:2]}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        incoming["spec"]["affinity"] = {"nodeAffinity": required}
    plugins = ["NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity"]
    draw.shuffle(plugins)
    # A pod that has a node is not in the API server as a pending one, so that it cannot preempt.
    chosen = config(*plugins[: draw.randint(1, 4)])
    return {"nodes": cluster, "pods": [], "pod": incoming, "config": chosen}


def selector(draw: Random) -> Object:
    """Return a selector of namespaces; some accept a namespace without labels."""
    value = draw.choice(("blue", "red"))
    expressions: list[Object] = [
        {"key": "team", "operator": "NotIn", "values": [value]},
        {"key": "team", "operator": "DoesNotExist"},
        {"key": "team", "operator": "In", "values": [value]},
        {"key": "team", "operator": "Exists"},
    ]
    return {"matchExpressions": draw.sample(expressions, draw.choice((1, 1, 2)))}


def term(draw: Random) -> Object:
    """Return a term of affinity between pods."""
    made: Object = {
        "labelSelector": {"matchLabels": {"app": draw.choice(APPS)}},
        "topologyKey": draw.choice((HOSTNAME, ZONE)),
    }
    if draw.random() < 0.85:
        made["namespaceSelector"] = selector(draw)
    if draw.random() < 0.2:
        made["namespaces"] = [draw.choice(NAMESPACES)]
    return made


def affinity(draw: Random) -> Object:
    """Return affinity between pods: required, preferred, or both, for and against."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    made: Object = {}
    for kind in draw.sample(("podAffinity", "podAntiAffinity"), draw.choice((1, 2))):
        made[kind] = {}
        if draw.random() < 0.5:
            made[kind][required] = [term(draw)]
        if draw.random() < 0.7 or not made[kind]:
            made[kind][preferred] = [
                {"weight": draw.randint(1, 100), "podAffinityTerm": term(draw)}
                for _ in range(draw.randint(1, 2))
            ]
    return made


def namespace_selector(draw: Random) -> Object:
    """Return pods of several namespaces, and a pod whose terms select namespaces by label."""
    cluster = nodes(draw)
    namespaces = []
    for name in NAMESPACES:
        made: Object = {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}
        if draw.random() < 0.6:
            labelled(made, team=draw.choice(("blue", "red")))
        namespaces.append(made)
    pods = []
    for number in range(draw.randint(4, 12)):
        on = draw.choice(cluster)["metadata"]["name"]
        made = running(f"old-{number}", on, number, draw.choice(NAMESPACES))
        if draw.random() < 0.3:
            made["spec"]["affinity"] = affinity(draw)
        pods.append(labelled(made, app=draw.choice(APPS)))
    incoming = pod("incoming", draw.choice(NAMESPACES), affinity=affinity(draw))
    scenario = {
        "nodes": cluster,
        "namespaces": namespaces,
        "pods": pods,
        "pod": labelled(incoming, app=draw.choice(APPS)),
    }
    if draw.random() < 0.5:
        scenario["config"] = config("InterPodAffinity")
    return scenario


def image_volumes(draw: Random) -> Object:
    """Return nodes with images, and a pod with volumes that are images."""
    images = [f"registry.example/image-{number}:1" for number in range(6)]
    # The scheduler takes the size of an image from the first node that has it, so it is one size.
    sizes = {name: draw.randint(50, 1500) * 1024 * 1024 for name in images}
    cluster = nodes(draw)
    for one in cluster:
        one["status"]["images"] = [
            {"names": [name], "sizeBytes": sizes[name]}
            for name in draw.sample(images, draw.randint(0, 5))
        ]
    incoming = pod("incoming")
    incoming["spec"]["containers"][0]["image"] = draw.choice(images)
    incoming["spec"]["volumes"] = [
        {"name": f"v{number}", "image": {"reference": name, "pullPolicy": "IfNotPresent"}}
        for number, name in enumerate(draw.sample(images, draw.randint(1, 3)))
    ]
    if draw.random() < 0.4:
        first = {**incoming["spec"]["containers"][0], "name": "i0", "image": draw.choice(images)}
        incoming["spec"]["initContainers"] = [first]
    scenario: Object = {"nodes": cluster, "pods": [], "pod": incoming}
    if draw.random() < 0.6:
        scenario["config"] = config("ImageLocality")
    return scenario


def declared_features(draw: Random) -> Object:
    """Return nodes that declare features, and a pod that mounts a volume with options."""
    known = [
        "VolumeBindMountOptions",
        "UserNamespacesHostNetworkSupport",
        "RestartAllContainersOnContainerExits",
    ]
    cluster = [
        node(
            f"node-{letter}", draw, declaredFeatures=sorted(draw.sample(known, draw.randint(0, 2)))
        )
        for letter in "abcd"
    ]
    incoming = pod("incoming", volumes=[{"name": "v", "emptyDir": {}}])
    mount: Object = {"name": "v", "mountPath": "/data"}
    if draw.random() < 0.8:
        mount["bindMountOptions"] = ["noexec"]
    incoming["spec"]["containers"][0]["volumeMounts"] = [mount]
    return {"nodes": cluster, "pods": [], "pod": incoming}
