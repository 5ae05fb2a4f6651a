/**
 * The way out of a bundle: every outgoing call passes here, each step of a redirect too. Private and link-local addresses
 * are refused by the network behind it, after the name was resolved.
 */
import { WorkerEntrypoint } from 'cloudflare:workers';
import { note } from './batch.ts';
import type { HostEnv } from './env.ts';

export class Egress extends WorkerEntrypoint<HostEnv, { readonly digest: string }> {
  override async fetch(request: Request): Promise<Response> {
    const { digest } = this.ctx.props;
    const { host } = new URL(request.url);
    const startedAtMs = Date.now();
    const seen = (outcome: { readonly status: number | null; readonly refused?: boolean }): void =>
      note(this.env, this.ctx, {
        kind: 'egress',
        digest,
        host,
        atMs: startedAtMs,
        durationMs: Date.now() - startedAtMs,
        bytesOut: Number(request.headers.get('content-length') ?? 0),
        ...outcome,
      });
    try {
      const policy = await policyOf(this.env);
      if (policy.mode === 'declared-only' && !policy.hosts.some((pattern) => covers(pattern, host))) {
        seen({ status: null, refused: true });
        return new Response(
          `The platform lets this application call declared hosts alone, and ${host} is none.`,
          {
            status: 403,
          },
        );
      }
      const response = await this.env.INTERNET.fetch(new Request(request, { redirect: 'manual' }));
      seen({ status: response.status });
      return response;
    } catch (error) {
      seen({ status: null });
      throw error;
    }
  }
}

interface Policy {
  readonly mode: 'observe' | 'declared-only';
  readonly hosts: readonly string[];
}

/** The time that a policy counts before the platform is asked again. */
const POLICY_MS = 10_000;
let known: { readonly policy: Policy; readonly untilMs: number } | null = null;

async function policyOf({ SERVICES }: HostEnv): Promise<Policy> {
  if (known !== null && known.untilMs > Date.now()) return known.policy;
  const response = await SERVICES.fetch('http://platform.internal/egress-policy');
  if (!response.ok) throw new Error('the platform did not say which hosts may be called');
  const policy = (await response.json()) as Policy;
  known = { policy, untilMs: Date.now() + POLICY_MS };
  return policy;
}

/** `*.example.com` covers every name below it, and not itself. */
function covers(pattern: string, host: string): boolean {
  const name = host.toLowerCase().replace(/:\d+$/, '');
  return pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern;
}
