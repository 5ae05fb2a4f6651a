/** The instance of each object in this process, by the id of the object: the tail of a bundle learns no more than that. */

interface Instance {
  readonly tenant: string;
  readonly scope: string;
}

/** The instances that are remembered, at some hundred bytes each; the one that started first is forgotten first. */
const INSTANCES_MAX = 20_000;

const instances = new Map<string, Instance>();

/** Call it when an instance starts. */
export function rememberInstance(objectId: string, { tenant, scope }: Instance): void {
  const [oldest] = instances.keys();
  if (instances.size >= INSTANCES_MAX && oldest !== undefined) instances.delete(oldest);
  instances.set(objectId, { tenant, scope });
}

/** Nothing for an object that is no instance, and outside of an object. */
export function instanceOf(objectId: string | undefined): Partial<Instance> {
  return (objectId !== undefined && instances.get(objectId)) || {};
}
