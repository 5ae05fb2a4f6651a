/**
 * The lines of deployed verticals on their way to the measurements: stacks get the places of the builder's source, and an
 * unexpected error is reported as one of a compiled-in vertical is.
 */
import type { HostedLine, WorkerdRuntime } from '@freehold/runtime-workerd';
import type { IncidentSink } from '@freehold/store';
import { z } from 'zod';
import type { Use } from '../network/activity.ts';

export interface DeployedLinesOptions {
  readonly runtime: Pick<WorkerdRuntime, 'mapStack'>;
  readonly onLines: (vertical: string, lines: readonly HostedLine[]) => void;
  readonly onInvoked: (use: { readonly vertical: string } & Use) => void;
  readonly onIncident: IncidentSink;
}

/** The line by which an instance reports an unexpected error: `hosted.ts` writes it, and so could a hostile bundle. */
const incident = z.object({
  freehold: z.literal('incident'),
  where: z.object({ method: z.string().max(200) }),
  error: z.string().max(5_000),
});

/** Never throws, never rejects. */
export function makeDeployedLines({ runtime, onLines, onInvoked, onIncident }: DeployedLinesOptions) {
  const mapped = async (vertical: string, line: HostedLine): Promise<HostedLine> => {
    if (line.kind === 'exception')
      return { ...line, stack: await runtime.mapStack(vertical, line.digest, line.stack) };
    if (line.kind !== 'console' || line.level !== 'error') return line;
    const reported = incidentOf(line.text);
    if (reported === null) return line;
    const stack = await runtime.mapStack(vertical, line.digest, reported.error);
    const [first = ''] = stack.split('\n', 1);
    const error = new Error(first);
    error.stack = stack;
    // Only the place is the bundle's word: whose error it is, the runtime knows.
    onIncident(error, { kind: vertical, key: line.scope ?? 'http', method: reported.where.method });
    const { level: _level, ...about } = line;
    const cut = (text: string): string => text.slice(0, 5_000);
    return { ...about, kind: 'exception', name: 'incident', text: cut(first), stack: cut(stack) };
  };
  return (vertical: string, lines: readonly HostedLine[]): void => {
    // One that names no instance is of no tenant.
    for (const line of lines)
      if (line.kind === 'invoked' && line.tenant !== undefined && line.scope !== undefined)
        onInvoked({ vertical, tenant: line.tenant, scope: line.scope, quantity: line.operations });
      else if (line.kind === 'failed') {
        const error = new Error(`The instance did not answer: ${line.text}`);
        error.stack = error.message;
        onIncident(error, { kind: vertical, key: line.scope ?? 'http', method: line.method });
      }
    const shown = lines.filter(({ kind }) => kind !== 'invoked' && kind !== 'failed');
    void Promise.all(shown.map((line) => mapped(vertical, line))).then((all) => onLines(vertical, all));
  };
}

function incidentOf(text: string): z.infer<typeof incident> | null {
  try {
    return incident.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
