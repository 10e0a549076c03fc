/** Kubernetes objects held to the published schema of their kind. */
const MODELS: Record<string, string> = {
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
}
/** Throws when it is not valid. */
export async function validate(object: Manifest): Promise<void> {
  const { apiVersion, kind } = object;
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
  const module = await import(`${MODELS[group] ?? 'kubernetes-models'}/${apiVersion}/${kind}`);
  new (module[kind] ?? module.default[kind])(object).validate();
}
