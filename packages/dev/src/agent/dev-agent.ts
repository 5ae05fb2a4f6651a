/** The MCP endpoint for the builder's coding agent. */

import type { People } from '../instance/people.ts';
import type { Versions } from '../instance/versions.ts';
import type { Fault } from '../lib/events.ts';
import type { Project } from '../project/project.ts';

export interface DevAgentOptions {
  readonly project: Project;
  readonly versions: Pick<Versions, 'current' | 'version'>;
  /** Null while no person is let in. */
  readonly people: () => People | null;
  readonly faults: () => { readonly save: readonly Fault[]; readonly requests: readonly Fault[] };
}

export function makeDevAgent(_options: DevAgentOptions): (request: Request) => Promise<Response> {
  return async () => new Response(null, { status: 404 });
}
