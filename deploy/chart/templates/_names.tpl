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

{{/* The rules for what the enabled plugins of the scheduler-plugins family read, each once. */}}
{{- define "mooring.pluginRules" -}}
{{- $enabled := dict -}}
{{- range (fromYaml (include "mooring.config" .)).profiles -}}
{{- range .plugins -}}
{{- range .enabled -}}
{{- $_ := set $enabled .name true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $rules := list -}}
{{- range $plugin, $itsRules := .Files.Get "files/plugin-rules.yaml" | fromYaml -}}
{{- if hasKey $enabled $plugin -}}
{{- $rules = concat $rules $itsRules -}}
{{- end -}}
{{- end -}}
{{- if $rules -}}
{{- toYaml (uniq $rules) -}}
{{- end -}}
{{- end -}}

{{/* What pods count for in ElasticQuotas: podRequests of CapacityScheduling. */}}
{{- define "mooring.quotaRequests" -}}
{{- $found := dict -}}
{{- range (fromYaml (include "mooring.config" .)).profiles -}}
{{- range .pluginConfig -}}
{{- if and (eq .name "CapacityScheduling") .args -}}
{{- $_ := set $found (default "" .args.podRequests) true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if hasKey $found "Scheduler" -}}
Scheduler
{{- else if hasKey $found "Containers" -}}
Containers
{{- end -}}
{{- end -}}

{{/* What the container of a pod may do. */}}
{{- define "mooring.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities:
  drop:
  - ALL
readOnlyRootFilesystem: true
{{- end -}}

{{/* The probes of a container whose port is named https. */}}
{{- define "mooring.livenessProbes" -}}
startupProbe:
  httpGet:
    path: /livez
    port: https
    scheme: HTTPS
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 24
livenessProbe:
  httpGet:
    path: /livez
    port: https
    scheme: HTTPS
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{/* Where the pods of both Deployments run, and as whom. */}}
{{- define "mooring.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default (eq .Release.Namespace "kube-system" | ternary "system-cluster-critical" "") .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
