/** The files of a bundle: those that the platform has already are named, and the others sent. */
import { type Caller, ControlPlaneError } from '@freehold/control-plane/client';
import type { ProjectBundle } from '@freehold/dev';
import { adminOperations } from '@freehold/directory/declarations';

/** The SHA-256 of the files that the platform has of the vertical; null for a vertical that it does not know. */
export async function knownFiles(call: Caller, slug: string): Promise<ReadonlySet<string> | null> {
  try {
    const { value } = await call(adminOperations['verticals.modules'], { params: { slug } });
    return new Set((value as { readonly items: readonly string[] }).items);
  } catch (error) {
    if (error instanceof ControlPlaneError && error.code === 'not_found') return null;
    throw error;
  }
}

/** @param known null: none of them. */
export function filesFor({ modules }: Pick<ProjectBundle, 'modules'>, known: ReadonlySet<string> | null) {
  const sent = modules.filter(({ digest }) => !known?.has(digest));
  const isSent = new Set(sent);
  return {
    sent: sent.map(({ name, mediaType, bytes }) => ({ name, mediaType, content: new Uint8Array(bytes) })),
    known: modules
      .filter((each) => !isSent.has(each))
      .map(({ name, mediaType, digest }) => ({ name, mediaType, digest })),
    bytes: bytesOf(sent),
    total: { modules: modules.length, bytes: bytesOf(modules) },
  };
}

function bytesOf(modules: ProjectBundle['modules']): number {
  return modules.reduce((sum, { bytes }) => sum + bytes.length, 0);
}
