/** The parts of programs: what their routes and pages need of an application, and nothing of its code or its scope. */
import type { IdentityDirectory } from '@freehold/auth';
import type { ClientDocuments } from '@freehold/auth/programs';
import type { PrincipalId, TenantId } from '@freehold/contracts';
import type { OperationTable } from '@freehold/operations';
import type { AppLook } from '../declaration/app.ts';
import type { AppContext, AppServices, Instance, ReadCounter, SignIns } from '../declaration/env.ts';
import { TEAM_PERMISSIONS } from '../declaration/supplied.ts';
import type { Look } from '../pages/style.ts';

export interface ProgramOptions extends Pick<AppServices, 'now' | 'random' | 'fetch' | 'onIncident'> {
  /** Tells people of programs that were let in for them. Default: no mail is sent. */
  readonly mailer?: AppServices['mailer'] | undefined;
  /** Names the vertical in incidents. */
  readonly slug: string;
  readonly signIn: SignIns;
  readonly directory: (tenant: TenantId) => IdentityDirectory;
  /** The declared permissions and their descriptions. */
  readonly permissions: Readonly<Record<string, string>>;
  readonly look: AppLook | undefined;
  readonly nameOf: (node: Instance) => Promise<string>;
  /** Has the counts that are not written yet. Default: those of another process are shown as they were written. */
  readonly reads?: ReadCounter;
  /**
   * The permissions of the member who asks, on all or on single records; null where that cannot be said. Then, and by
   * default, any declared one is offered, and the scope decides.
   */
  readonly holdings?: (asker: Asker) => Promise<readonly string[] | null>;
}

/** A member with a request. */
export interface Asker {
  readonly c: AppContext;
  readonly node: Instance;
  readonly principal: PrincipalId;
}

export interface ProgramParts extends ProgramOptions {
  readonly documents: ClientDocuments;
  readonly pageLook: Look;
}

/**
 * Returns the permissions that are of use to a program. Those of the team are for people and their pages, unless an
 * operation demands one.
 */
export function programPermissions(
  declared: Readonly<Record<string, string>>,
  operations: OperationTable = {},
): Readonly<Record<string, string>> {
  const demanded = new Set(Object.values(operations).map(({ permission }) => permission));
  return Object.fromEntries(
    Object.entries(declared).filter(([key]) => demanded.has(key) || !Object.hasOwn(TEAM_PERMISSIONS, key)),
  );
}
