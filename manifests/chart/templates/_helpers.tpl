{{/* The release name, if it contains the chart name. Names of Services append up to eleven characters. */}}
{{- define "pointsman.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains (include "pointsman.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "pointsman.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "pointsman.name" -}}
{{- .Values.nameOverride | default "pointsman" -}}
{{- end -}}

{{- define "pointsman.selector" -}}
app.kubernetes.io/name: {{ include "pointsman.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "pointsman.labels" -}}
{{ include "pointsman.selector" . }}
app.kubernetes.io/component: server
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "pointsman.image" -}}
{{- $repository := required "image.repository: say where your image is; there is no published one (docs/install.md)" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "pointsman.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "pointsman.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "pointsman.secret" -}}
{{- if .Values.certificate.secretName -}}
{{- .Values.certificate.secretName -}}
{{- else -}}
{{- include "pointsman.fullname" . }}-tls
{{- end -}}
{{- end -}}

{{- define "pointsman.priorityClass" -}}
{{- if .Values.priorityClass.create -}}
{{- .Values.priorityClass.name | default (include "pointsman.fullname" .) -}}
{{- else -}}
{{- .Values.priorityClass.name -}}
{{- end -}}
{{- end -}}

{{/* True if a volume of ConfigMaps is mounted. */}}
{{- define "pointsman.kindsDirectory" -}}
{{- if or .Values.kinds.files .Values.kinds.configMaps }}yes{{ end -}}
{{- end -}}

{{/* The flags, mounts and volumes of the definitions, for servers and Jobs. */}}
{{- define "pointsman.kindsArgs" -}}
{{- $args := list -}}
{{- if include "pointsman.kindsDirectory" . }}{{ $args = append $args "- --kinds=/kinds/files" }}{{ end -}}
{{- if .Values.kinds.volume }}{{ $args = append $args "- --kinds=/kinds/volume" }}{{ end -}}
{{- if not .Values.kinds.builtIn }}{{ $args = append $args "- --no-built-in" }}{{ end -}}
{{- join "\n" $args -}}
{{- end -}}

{{- define "pointsman.kindsMounts" -}}
{{- $mounts := list -}}
{{- if include "pointsman.kindsDirectory" . }}{{ $mounts = append $mounts "- {name: kinds, mountPath: /kinds/files, readOnly: true}" }}{{ end -}}
{{- if .Values.kinds.volume }}{{ $mounts = append $mounts "- {name: kinds-volume, mountPath: /kinds/volume, readOnly: true}" }}{{ end -}}
{{- join "\n" $mounts -}}
{{- end -}}

{{- define "pointsman.kindsVolumes" -}}
{{- if include "pointsman.kindsDirectory" . -}}
- name: kinds
  projected:
    sources:
    {{- if .Values.kinds.files }}
    - configMap:
        name: {{ include "pointsman.fullname" . }}-kinds
    {{- end }}
    {{- range .Values.kinds.configMaps }}
    - configMap:
        name: {{ . }}
    {{- end }}
{{ end -}}
{{- with .Values.kinds.volume -}}
- name: kinds-volume
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* True if each API server has a replica on its node. */}}
{{- define "pointsman.controlPlane" -}}
{{- if (.Values.controlPlane | default dict).enabled }}yes{{ end -}}
{{- end -}}

{{/* Labels of Pods without a server, by component. They match neither the Service nor the NetworkPolicy, which allows no
     outgoing connections. */}}
{{- define "pointsman.otherLabels" -}}
{{- $component := index . 0 }}
{{- with index . 1 -}}
app.kubernetes.io/name: {{ include "pointsman.name" . }}-{{ $component }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ $component }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}
{{- end -}}
