/** The parts of programs: what their routes and pages need of an application, and nothing of its code or its scope. */
import type { IdentityDirectory } from '@freehold/auth';
import type { ClientDocuments } from '@freehold/auth/programs';
import type { TenantId } from '@freehold/contracts';
import type { AppLook } from '../declaration/app.ts';
import type { AppServices, Instance, SignIns } from '../declaration/env.ts';
import type { Look } from '../pages/style.ts';

export interface ProgramOptions extends Pick<AppServices, 'now' | 'random' | 'fetch'> {
  readonly signIn: SignIns;
  readonly directory: (tenant: TenantId) => IdentityDirectory;
  /** The declared permissions and their descriptions. */
  readonly permissions: Readonly<Record<string, string>>;
  readonly look: AppLook | undefined;
  readonly nameOf: (node: Instance) => Promise<string>;
  /** The permissions of a member, on all or on single records. Default: any declared one is offered, and the scope decides. */
  readonly holdings?: (node: Instance, principal: string) => Promise<readonly string[]>;
}

export interface ProgramParts extends ProgramOptions {
  readonly documents: ClientDocuments;
  readonly pageLook: Look;
}
