{{- define "mooring.name" -}}
{{- default .Release.Name .Values.name -}}
{{- end -}}

{{- define "mooring.labels" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/instance: {{ include "mooring.name" . }}
{{- end -}}

{{/* The complete leaderElection of the configuration. */}}
{{- define "mooring.leaderElection" -}}
{{- $lease := dict "leaderElect" true "resourceName" (include "mooring.name" .) "resourceNamespace" .Release.Namespace -}}
{{- toYaml (mergeOverwrite $lease (deepCopy (default dict .Values.config.leaderElection)) (deepCopy .Values.leaderElection)) -}}
{{- end -}}

{{/* The configuration file. */}}
{{- define "mooring.config" -}}
{{- $config := dict "apiVersion" "kubescheduler.config.k8s.io/v1" "kind" "KubeSchedulerConfiguration" -}}
{{- $config = mergeOverwrite $config (deepCopy .Values.config) -}}
{{- $_ := set $config "leaderElection" (fromYaml (include "mooring.leaderElection" .)) -}}
{{- $profiles := $config.profiles -}}
{{- if not $profiles -}}
{{- $profile := dict -}}
{{- if .Values.plugins -}}
{{- $enabled := list -}}
{{- range .Values.plugins -}}
{{- $enabled = append $enabled (dict "name" (default .class .name)) -}}
{{- end -}}
{{- $profile = dict "plugins" (dict "multiPoint" (dict "enabled" $enabled)) -}}
{{- end -}}
{{- $profiles = list $profile -}}
{{- end -}}
{{- if eq (len $profiles) 1 -}}
{{- $profiles = list (mergeOverwrite (dict "schedulerName" (include "mooring.name" .)) (first $profiles)) -}}
{{- end -}}
{{- $_ := set $config "profiles" $profiles -}}
{{- toYaml $config -}}
{{- end -}}

{{/* The files of plugins that are not part of the image. */}}
{{- define "mooring.pluginFiles" -}}
{{- $files := dict -}}
{{- range .Values.plugins -}}
{{- if .code -}}
{{- $_ := set $files (required "plugins: one with code needs file" .file) .code -}}
{{- end -}}
{{- end -}}
{{- if $files -}}
{{- toYaml $files -}}
{{- end -}}
{{- end -}}
