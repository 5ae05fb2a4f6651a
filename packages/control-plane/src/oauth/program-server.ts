/**
 * The authorization server for programs that bring a registration or a document of their own: that of instances
 * (`@freehold/auth/programs`), over the roster. The two clients that are known by name have endpoints of before beside it.
 */
import { randomBytes } from 'node:crypto';
import {
  type AuthorizationServer,
  type ClientDocuments,
  type Consenter,
  isDocumentId,
  isRegisteredId,
  makeAuthorizationServer,
  makeClientDocuments,
  OAUTH_PATHS,
  type ProgramDirectory,
  readClientProof,
} from '@freehold/auth/programs';
import { PlatformError } from '@freehold/contracts';
import { answerOtherMethod } from '@freehold/contracts/http';
import { CONTROL_PLANE, type MemberActor, type StaffPrograms } from '@freehold/directory';
import type { Context, Hono } from 'hono';
import type { ControlPlaneEnv } from '../http/env.ts';
import type { StaffOptions } from '../staff/staff-options.ts';
import { resourcesOf } from './metadata.ts';

export interface ProgramDeps {
  readonly staff: StaffOptions;
  readonly origin: () => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The server of one request. */
export type ProgramServer = (c: Context<ControlPlaneEnv>) => AuthorizationServer;

export function makeProgramServer({ staff, origin, now }: ProgramDeps): ProgramServer {
  const documents: ClientDocuments = makeClientDocuments({ fetch: staff.fetchDocument ?? noDocument, now });
  const sealingSecrets = staff.sealingSecrets ?? [randomBytes(32).toString('hex')];
  return (c) =>
    makeAuthorizationServer({
      tenantId: CONTROL_PLANE,
      scopeId: CONTROL_PLANE,
      origin: origin(),
      resources: resourcesOf(origin()),
      sessionSecrets: sealingSecrets,
      directory: directoryOf(staff.signIns.programs, c.var.requestId),
      documents,
      now,
      random: randomBytes,
      // The staff tools take no page of another origin, and neither does the way to them.
      crossOrigin: false,
    });
}

/** The programs of the roster as those of an instance: the subject is the id of a member. */
function directoryOf(programs: StaffPrograms, requestId: string): ProgramDirectory {
  return {
    findClient: (input) => programs.findClient(input),
    letIn: async ({ subject, client, name, host, allowed, code }) => {
      const admitted = await programs.admit({
        member: subject.sub,
        client,
        name,
        host,
        allowed,
        code,
        requestId,
      });
      if ('code' in admitted) return admitted;
      const { refused: reason } = admitted;
      const detail = {
        access_ended: 'Your access ended while you decided.',
        program_not_admitted: 'This control plane does not admit this program.',
      }[reason];
      throw new PlatformError('forbidden', detail, { reason });
    },
    redeemCode: (input) => programs.redeemCode({ ...input, requestId }),
    refreshTokens: (input) => programs.refreshTokens({ ...input, requestId }),
    revokeToken: (input) => programs.revokeToken({ ...input, requestId }),
  };
}

/** The member who decides, in this session. */
export function consenterOf({ id, session }: MemberActor): Consenter {
  return { subject: { issuer: CONTROL_PLANE, sub: id }, sid: session ?? '' };
}

/** Whether a `client_id` is one of a registration or of a document. */
export function isProgramClient(id: string | null): boolean {
  return id !== null && (isDocumentId(id) || isRegisteredId(id));
}

/** Whether a form of the token or revocation endpoint is of such a client, by its body or its header. */
export function isOfProgramClient(headers: Headers, form: URLSearchParams): boolean {
  try {
    return isProgramClient(readClientProof(headers, new Map(form)).id);
  } catch {
    // A malformed proof is judged by the endpoint.
    return isProgramClient(form.get('client_id'));
  }
}

export function mountRegistration(app: Hono<ControlPlaneEnv>, serverOf: ProgramServer): void {
  app.post(OAUTH_PATHS.register, async (c) => (await serverOf(c).handle(c.req.raw)) ?? c.notFound());
  app.all(OAUTH_PATHS.register, (c) => answerOtherMethod(c.req.raw.method, ['POST']));
}

function noDocument(): Promise<Response> {
  return Promise.reject(new TypeError('this control plane fetches no documents'));
}
