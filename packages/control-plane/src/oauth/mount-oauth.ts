/**
 * The authorization server of the staff's programs (RFC 6749 with PKCE, RFC 8252, 8414, 8628, 7009, 9207, 9728): small,
 * because there is one kind of client, one kind of token, and one right, which is whatever its owner may at the moment.
 */
import type { Hono } from 'hono';
import type { ControlPlaneEnv } from '../app.ts';
import type { StaffOptions } from '../staff/staff-options.ts';
import { mountAuthorize } from './authorize.ts';
import { mountDevicePage } from './device-page.ts';
import { mountOAuthMetadata } from './metadata.ts';
import { mountTokenEndpoints } from './token.ts';

export interface OAuthDeps {
  readonly origin: () => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Undefined: the resources are described, and nobody issues tokens for them here. */
  readonly staff: StaffOptions | undefined;
}

export function mountOAuth(app: Hono<ControlPlaneEnv>, { origin, now, staff }: OAuthDeps): void {
  mountOAuthMetadata(app, { origin, issuesTokens: staff !== undefined });
  if (!staff) return;
  mountAuthorize(app, { staff, origin });
  mountTokenEndpoints(app, { signIns: staff.signIns, origin, now });
  mountDevicePage(app, { staff, origin });
}
