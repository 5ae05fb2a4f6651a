/** Service tokens for the operator's own wiring: the first of them is made before anybody can sign in. */
import type { UnitStub } from '@freehold/store';
import type { LogHead } from '../declarations/records.ts';
import { TOKEN_DAYS_MAX } from '../declarations/token-days.ts';
import type { DirectoryMethods } from '../unit.ts';
import type { ServiceToken } from './service-tokens.ts';

/** What the operator's own wiring asks for when it makes a service token. */
export interface ServiceTokenRequest {
  readonly name: string;
  /** Default and most: 365. */
  readonly expiresInDays?: number;
}

export interface ServiceTokens {
  /** Makes a service token. One of the same name goes on working: a rotation with an overlap. */
  mintServiceToken(request: ServiceTokenRequest): Promise<ServiceToken & { readonly secret: string }>;
  /** Makes a service token unless one of this name works; `secret` is null when there was one. */
  ensureServiceToken(request: ServiceTokenRequest): Promise<ServiceToken>;
  /** Revokes a service token. It stops working at once. */
  revokeServiceToken(id: string): Promise<void>;
}

export interface ServiceTokensDeps {
  readonly directory: Pick<UnitStub<DirectoryMethods>, 'orderServiceToken' | 'revokeServiceToken'>;
  readonly newRequestId: () => string;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
}

export function makeServiceTokens({ directory, newRequestId, publish }: ServiceTokensDeps): ServiceTokens {
  const order = async (
    { name, expiresInDays = TOKEN_DAYS_MAX }: ServiceTokenRequest,
    another: boolean,
  ): Promise<ServiceToken> => {
    if (!Number.isInteger(expiresInDays) || expiresInDays < 1 || expiresInDays > TOKEN_DAYS_MAX)
      throw new RangeError(`a service token works for 1 to ${TOKEN_DAYS_MAX} days`);
    const requestId = newRequestId();
    const token = await directory.orderServiceToken({ name, days: expiresInDays, requestId, another });
    if (token.head) await publish(token.head);
    return token;
  };

  return {
    mintServiceToken: async (request) => {
      const token = await order(request, true);
      if (token.secret === null) throw new TypeError('a new service token came without its secret');
      return { ...token, secret: token.secret };
    },

    ensureServiceToken: (request) => order(request, false),

    revokeServiceToken: async (id) => {
      const { head } = await directory.revokeServiceToken({ id, requestId: newRequestId() });
      if (head) await publish(head);
    },
  };
}
