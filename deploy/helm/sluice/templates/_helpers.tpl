{{- define "sluice.labels" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "sluice.name" -}}
{{ .root.Release.Name }}-{{ .role }}
{{- end }}

{{- define "sluice.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "sluice.secret" -}}
{{ .Values.secrets.existing | default (printf "%s-secrets" .Release.Name) }}
{{- end }}

{{- define "sluice.redisSecret" -}}
{{- if .Values.redis.existingSecret -}}
{{ .Values.redis.existingSecret }}
{{- else if .Values.redis.bundled -}}
{{ .Release.Name }}-redis
{{- else -}}
{{ fail "redis.existingSecret: name a secret with REDIS_URL_API, REDIS_URL_WORKER and REDIS_URL_ADMIN, or set redis.bundled" }}
{{- end -}}
{{- end }}

{{- define "sluice.postgresSecret" -}}
{{ .Values.postgres.existingSecret | default (printf "%s-postgres" .Release.Name) }}
{{- end }}

{{/* What every pod is given, and then what those of a role are given: the second is added, and wins. As YAML. */}}
{{- define "sluice.pod" -}}
{{- $all := .root.Values.pods -}}
{{- $own := get .root.Values .role | default dict -}}
{{- $pod := dict -}}
{{- range $map := list "labels" "annotations" "nodeSelector" "env" -}}
{{- $both := dict -}}
{{- range $name, $value := get $all $map | default dict }}{{ $_ := set $both $name $value }}{{ end -}}
{{- range $name, $value := get $own $map | default dict }}{{ $_ := set $both $name $value }}{{ end -}}
{{- $_ := set $pod $map $both -}}
{{- end -}}
{{- range $list := list "tolerations" "envFrom" "volumes" "volumeMounts" -}}
{{- $_ := set $pod $list (concat (get $all $list | default list) (get $own $list | default list)) -}}
{{- end -}}
{{- range $one := list "affinity" "topologySpreadConstraints" "priorityClassName" -}}
{{- $_ := set $pod $one (get $own $one | default (get $all $one)) -}}
{{- end -}}
{{ toYaml $pod }}
{{- end }}

{{/* What says where a pod runs, and as whom. */}}
{{- define "sluice.placement" -}}
{{- $pod := include "sluice.pod" . | fromYaml -}}
{{- $account := .root.Values.serviceAccount -}}
automountServiceAccountToken: false
{{- if or $account.create $account.name }}
serviceAccountName: {{ $account.name | default .root.Release.Name }}
{{- end }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with get $pod $field }}
{{ dict $field . | toYaml }}
{{- end }}
{{- end }}
{{- end }}

{{- define "sluice.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "sluice.containerSecurity" -}}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities: { drop: [ALL] }
{{- end }}

{{/* The variables that a role is given. Only workers have the providers' keys, and only api processes the pepper. */}}
{{- define "sluice.env" -}}
{{- $pod := include "sluice.pod" . | fromYaml -}}
{{- $redisUser := eq .role "apply" | ternary "ADMIN" (upper .role) -}}
- name: REDIS_URL
  valueFrom: { secretKeyRef: { name: {{ include "sluice.redisSecret" .root }}, key: REDIS_URL_{{ $redisUser }} } }
{{- if gt (int .root.Values.shards) 1 }}
- { name: SLUICE_SHARDS, value: '{{ int .root.Values.shards }}' }
{{- end }}
{{- if and (eq .role "worker") .root.Values.worker.shards }}
- { name: WORKER_SHARDS, value: {{ .root.Values.worker.shards | quote }} }
{{- end }}
{{- if ne .role "apply" }}
- name: PAYLOAD_KEY
  valueFrom: { secretKeyRef: { name: {{ include "sluice.secret" .root }}, key: PAYLOAD_KEY } }
{{- end }}
{{- if ne .role "worker" }}
- name: KEY_PEPPER
  valueFrom: { secretKeyRef: { name: {{ include "sluice.secret" .root }}, key: KEY_PEPPER } }
{{- end }}
{{- if eq .role "admin" }}
- name: ADMIN_TOKEN
  valueFrom: { secretKeyRef: { name: {{ include "sluice.secret" .root }}, key: ADMIN_TOKEN } }
{{- end }}
{{- if eq .role "apply" }}
- name: GATEWAY_KEY
  valueFrom: { secretKeyRef: { name: {{ include "sluice.secret" .root }}, key: GATEWAY_KEY, optional: true } }
{{- end }}
{{- if and (has .role (list "worker" "admin")) (or .root.Values.postgres.bundled .root.Values.postgres.existingSecret) }}
{{- $secret := include "sluice.postgresSecret" .root }}
- name: DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: DATABASE_URL } }
{{- if eq .role "worker" }}
# Workers make the tables. A secret without this key has a DATABASE_URL whose role owns them.
- name: DATABASE_OWNER_URL
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: DATABASE_OWNER_URL, optional: true } }
{{- end }}
{{- end }}
{{- if and (has .role (list "api" "admin")) .root.Values.files.volume.enabled }}
- { name: FILES_FOLDER, value: /var/lib/sluice/files }
{{- end }}
{{- with .root.Values.tracing.endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
{{- end }}
{{- if eq .role "api" }}
# Until every node has heard that this pod is no longer to be sent requests.
- { name: DRAIN_DELAY_MS, value: '5000' }
{{- end }}
{{- if eq .role "admin" }}
# Nobody sends it requests through the Service.
- { name: DRAIN_DELAY_MS, value: '0' }
{{- if .root.Values.console.enabled }}
- { name: ADMIN_HOST, value: 0.0.0.0 }
{{- end }}
{{- end }}
{{- range $name, $value := $pod.env }}
{{- if kindIs "map" $value }}
- {{ merge (dict "name" $name) $value | toJson }}
{{- else }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}
{{- end }}
