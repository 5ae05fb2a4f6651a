/** The people of a development server: members of the instance, who sign in at the development issuer. */
import { PlatformError, type PrincipalId } from '@freehold/contracts';
import { type Person, seededPeople } from '@freehold/issuer';
import { makeRelyingParty } from '@freehold/oidc-rp';
import { httpBinding } from '@freehold/operations';
import { ApiError, makeOperationsClient } from '@freehold/vertical-host/operations-client';
import { DevError } from '../lib/dev-error.ts';
import type { DevPerson } from '../lib/events.ts';
import { CLIENT_ID, INSTANCE } from './local-platform.ts';
import type { Generation } from './versions.ts';

/** The person who owns the instance. */
export const OWNER = 'ada';

/** A member, for calls without a browser. */
export interface Member {
  readonly principal: PrincipalId;
  /** Runs an operation as this person, and returns its output. @throws PlatformError */
  call(operation: string, input?: unknown): Promise<unknown>;
}

export interface AsOptions {
  /** A role of the manifest, which the person gets if they lack it. Default: the roles that they have. */
  readonly role?: string;
}

interface Me {
  readonly status: 'member' | 'stranger' | 'signed_out';
  readonly principal: PrincipalId | null;
  readonly roles: readonly { readonly key: string }[];
}

/** The addresses that people know. */
export interface Addresses {
  /** The origin that browsers see. */
  readonly origin: string;
  readonly issuer: string;
}

export class People {
  readonly #generation: Generation;
  readonly #addresses: Addresses;

  constructor(generation: Generation, addresses: Addresses) {
    this.#generation = generation;
    this.#addresses = addresses;
  }

  /** A member by login name; made with the role, by an invite of the owner, where there is none. */
  async as(login: string, { role }: AsOptions = {}): Promise<Member> {
    const { manifest } = this.#generation.loaded.app;
    if (role !== undefined && !Object.hasOwn(manifest.roles, role))
      throw new DevError(
        'not_found',
        `There is no role ${role}: the manifest has ${Object.keys(manifest.roles).join(', ')}.`,
      );
    let me = await this.#me(login);
    if (me.principal === null) {
      if (role === undefined)
        throw new DevError(
          'not_found',
          `${login} is no member yet: say with which role, as in { role: '…' }.`,
        );
      await this.#join(login, role);
      me = await this.#me(login);
    }
    const principal = me.principal as PrincipalId;
    if (role !== undefined && !me.roles.some(({ key }) => key === role))
      await this.#ask(OWNER, 'POST', `/api/members/${principal}/role`, { role });
    return { principal, call: (operation, input = {}) => this.#call(login, operation, input) };
  }

  /**
   * Makes the people of a first start: the owner, and one for each other role of the manifest. Only the owner's seat is
   * needed later, and its window must not close before a person found the page. Returns a sentence for each role that
   * the owner may not give.
   */
  async makeFirst(): Promise<readonly string[]> {
    // The first person who asks becomes the owner, for a while after the instance was made.
    if ((await this.#me(OWNER)).status === 'stranger') await this.#claim();
    const { roles, ownerRole } = this.#generation.loaded.app.manifest;
    const others = seededPeople.filter(({ login }) => login !== OWNER);
    const offered = Object.keys(roles).filter((role) => role !== ownerRole);
    const failures: string[] = [];
    for (const [index, role] of offered.slice(0, others.length).entries())
      await this.as((others[index] as Person).login, { role }).catch((error: unknown) => {
        if (!(error instanceof DevError)) throw error;
        failures.push(error.message);
      });
    return failures;
  }

  /** The seeded people with the roles that they have now. */
  async list(): Promise<readonly DevPerson[]> {
    const people: DevPerson[] = [];
    for (const { login, name } of seededPeople) {
      const { roles } = await this.#me(login);
      people.push({ login, name, roles: roles.map(({ key }) => key) });
    }
    return people;
  }

  async #claim(): Promise<void> {
    const { directory } = this.#generation.platform;
    const { scopeId } = INSTANCE;
    const { token } = await directory.mintOwnerClaimLink({ scopeId, origin: this.#addresses.origin });
    await this.#ask(OWNER, 'POST', '/api/claim', { token });
  }

  async #join(login: string, role: string): Promise<void> {
    const invite = await this.#ask(OWNER, 'POST', '/api/invites', { role }).catch((error: unknown) => {
      const { message } = error as Error;
      throw new DevError('conflict', `${login} cannot be made a member with the role ${role}: ${message}`);
    });
    const token = new URL((invite as { url: string }).url).searchParams.get('invite');
    await this.#ask(login, 'POST', '/api/accept-invite', { token });
  }

  async #me(login: string): Promise<Me> {
    return (await this.#ask(login, 'GET', '/api/me')) as Me;
  }

  /** Runs an operation as its route does. */
  async #call(login: string, operation: string, input: unknown): Promise<unknown> {
    const { operations } = this.#generation.loaded.app;
    const declared = operations[operation];
    if (!declared)
      throw new DevError(
        'not_found',
        `There is no operation ${operation}: schema lists those that there are.`,
      );
    const client = makeOperationsClient(
      { [operation]: httpBinding(operation, declared) },
      {
        baseUrl: this.#addresses.origin,
        fetch: async (address, init) => this.#send(login, new Request(address, init)),
      },
    );
    const { value } = await client.call(operation, input as never).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code === 'unreachable') throw error;
      throw new PlatformError(
        error.code,
        error.message,
        error.reason === undefined ? {} : { reason: error.reason },
      );
    });
    return value;
  }

  async #ask(login: string, method: string, path: string, body?: unknown): Promise<unknown> {
    const request = new Request(`${this.#addresses.origin}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const response = await this.#send(login, request);
    const answer: unknown = await response.json();
    if (response.ok) return answer;
    throw new DevError(
      'conflict',
      (answer as { detail?: string }).detail ?? `${path} answered ${response.status}`,
    );
  }

  async #send(login: string, request: Request): Promise<Response> {
    request.headers.set('cookie', `sb_session=${await this.#session(login)}`);
    return this.#generation.platform.fetch(request, null);
  }

  /** The session that a sign-in of this person would leave. */
  async #session(login: string): Promise<string> {
    const person = seededPeople.find((each) => each.login === login);
    const secret = await this.#generation.platform.directory.sessionSecret();
    return makeRelyingParty({
      env: { issuer: this.#addresses.issuer, clientId: CLIENT_ID, sessionSecrets: [secret] },
      audience: `${INSTANCE.tenantId}/${INSTANCE.scopeId}`,
      now: Date.now,
      fetch: async () => new Response(null, { status: 503 }),
    }).mintSession({
      id: login,
      name: person?.name ?? login,
      email: person?.email ?? `${login}@example.test`,
      emailVerified: person?.emailVerified ?? true,
    });
  }
}
