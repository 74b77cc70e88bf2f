"""The arguments of plugins: typed, defaulted and checked."""

from __future__ import annotations

import pytest

from tests.config.loading import (
    StrangerArgs,
    errors_of,
    load,
)


def test_a_strangers_args_are_typed_and_defaulted() -> None:
    result = load(
        """\
        profiles:
        - plugins: {multiPoint: {enabled: [{name: Stranger}, {name: Loose}]}}
          pluginConfig:
          - name: Stranger
            args: {favorite_color: red, apiVersion: example.com/v1, kind: StrangerArgs}
          - name: Loose
            args: {anything: [goes]}
        """
    )
    assert result.profiles[0].args["Stranger"] == StrangerArgs(favorite_color="red")
    assert result.profiles[0].args["Loose"] == {"anything": ["goes"]}
    result = load("profiles: [{plugins: {multiPoint: {enabled: [{name: Stranger}]}}}]\n")
    assert result.profiles[0].args["Stranger"] == StrangerArgs()


def test_args_that_a_plugin_needs_and_nobody_gives_are_an_error() -> None:
    (error,) = errors_of("profiles: [{plugins: {filter: {enabled: [{name: Needy}]}}}]\n")
    assert error.endswith(
        'profiles[0].pluginConfig: plugin "Needy" needs args: node: Required value'
    )


@pytest.mark.parametrize(
    ("args", "error"),
    [
        pytest.param(
            "{favourite_color: red}",
            "config.yaml:6:12: profiles[0].pluginConfig[0].args.favourite_color: unknown field "
            '"favourite_color", did you mean "favorite_color"?',
            id="an unknown field",
        ),
        pytest.param(
            "{favorite_number: many}",
            "config.yaml:6:29: profiles[0].pluginConfig[0].args.favorite_number: must be an "
            'integer, got "many"',
            id="a wrong type",
        ),
        pytest.param(
            "{favorite_number: -1}",
            "config.yaml:6:11: profiles[0].pluginConfig[0].args: favorite_number must not be "
            "negative, got -1",
            id="a check of the plugin's own",
        ),
        pytest.param(
            "[red]",
            "config.yaml:6:11: profiles[0].pluginConfig[0].args: must be a mapping, got a list",
            id="not a mapping",
        ),
    ],
)
def test_a_strangers_args_are_checked(args: str, error: str) -> None:
    assert errors_of(
        f"""\
        profiles:
        - plugins: {{multiPoint: {{enabled: [{{name: Stranger}}]}}}}
          pluginConfig:
          - args: {args}
            name: Stranger
        """
    ) == [error]


def test_a_check_that_breaks_is_an_error_of_the_configuration() -> None:
    (error,) = errors_of("profiles: [{pluginConfig: [{name: Broken, args: {number: 1}}]}]\n")
    assert "RuntimeError('a bug in the plugin')" in error


@pytest.mark.parametrize(
    ("args", "error"),
    [
        pytest.param(
            "{kind: InterPodAffinityArgs}",
            "args for plugin NodeResourcesFit were not of type "
            "NodeResourcesFitArgs.kubescheduler.config.k8s.io, got "
            "InterPodAffinityArgs.kubescheduler.config.k8s.io",
            id="the kind of another plugin",
        ),
        pytest.param(
            "{apiVersion: kubescheduler.config.k8s.io/v1beta1}",
            'must be "kubescheduler.config.k8s.io/v1", got "kubescheduler.config.k8s.io/v1beta1"',
            id="an older version",
        ),
    ],
)
def test_the_type_inside_in_tree_args_is_checked(args: str, error: str) -> None:
    body = f"profiles: [{{pluginConfig: [{{name: NodeResourcesFit, args: {args}}}]}}]\n"
    (found,) = errors_of(body)
    assert found.endswith(error)
