/** Who a token is, as the control plane says it. */
import { PlatformError, problemSchema } from '@freehold/contracts';
import { ControlPlaneError } from '@freehold/control-plane/client';
import { z } from 'zod';
import type { World } from '../world.ts';

const who = z.object({
  kind: z.string(),
  id: z.string(),
  name: z.string(),
  role: z.string().nullable(),
  tenant: z.string().nullable(),
});
export type Who = z.infer<typeof who>;

/** @throws ControlPlaneError as it answers, PlatformError for an answer of another form. */
export async function whoIs(
  { url, token }: { readonly url: string; readonly token: string },
  { fetch, signal }: Pick<World, 'fetch'> & { readonly signal: AbortSignal },
): Promise<Who> {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const response = await fetch(new Request(`${url}/auth/me`, { headers, redirect: 'manual', signal }));
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) {
    const problem = problemSchema.safeParse(answer).data ?? null;
    const detail = problem?.detail ?? `${url} answered with status ${response.status}.`;
    throw new ControlPlaneError(detail, {
      status: response.status,
      problem,
      requestId: problem?.requestId ?? null,
    });
  }
  const parsed = who.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new PlatformError('unavailable', `${url} answered with something that is nobody.`);
}

/** `Ada (staff, admin)`, `Bob (builder, tnt_…)`. */
export function whoText({ name, kind, role, tenant }: Who): string {
  const what = [kind, role === kind ? null : role, tenant];
  return `${name} (${what.filter((each) => each !== null).join(', ')})`;
}
