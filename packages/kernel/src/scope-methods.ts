/** What a scope can be asked: the methods of its unit, with their inputs and answers. */
import type {
  DenialRecord,
  DenialsSummary,
  EntityRef,
  EventId,
  EventRecord,
  InvocationId,
  InvokeRequest,
  InvokeResult,
  MigrationRecord,
  Page,
  PrincipalId,
  TenantId,
} from '@freehold/contracts';
import type { Proof } from './permissions/permissions.ts';

export interface EventWalkResult {
  readonly items: EventRecord[];
  /** True when the walk was cut at its bound. */
  readonly truncated: boolean;
}

/** What a principal holds in a scope. */
export interface Holdings {
  readonly roles: readonly string[];
  /** Permissions that hold for the whole scope, by role or direct grant. */
  readonly permissions: readonly string[];
}

export interface RoleAssignment {
  readonly principal: PrincipalId;
  readonly role: string;
  readonly grantedBy: string;
  readonly atMs: number;
}

/** `by` is the principal whose authority it is: a role is given only by somebody who holds all of it, or by the platform. */
export interface RoleChange {
  readonly principal: PrincipalId;
  readonly role: string;
  readonly by: PrincipalId | 'platform';
}

/** The methods of a scope's unit (design: kernel). Each takes one JSON value; failures are `PlatformError`s. */
export type ScopeMethods = {
  /** Called through a stub with `create`. Provisioning twice is provisioning once; another tenant's scope is `not_found`. */
  provision(input: { readonly tenantId: TenantId; readonly name: string }): 'provisioned' | 'unchanged';
  /** Runs one operation for a principal: validated, permitted, recorded, all or nothing. */
  invoke(input: InvokeRequest & { readonly principal: PrincipalId; readonly cause?: EventId }): InvokeResult;
  /** Replaces the roles that the platform adds to the manifest's own. */
  projectRoles(input: { readonly roles: Readonly<Record<string, readonly string[]>> }): null;
  assignRole(input: RoleChange): null;
  revokeRole(input: RoleChange): null;
  assignments(input: Record<string, never>): RoleAssignment[];
  holdings(input: { readonly principal: PrincipalId }): Holdings;
  /** Every assignment and grant that gives the principal the permission. */
  explain(input: {
    readonly principal: PrincipalId;
    readonly permission: string;
    readonly entity?: EntityRef;
  }): Proof[];
  /** The story of one record, oldest first. */
  history(input: {
    readonly entity: EntityRef;
    readonly limit: number;
    readonly cursor?: string;
  }): Page<EventRecord>;
  /** From an event back to its origin, nearest cause first. */
  cause(input: { readonly event: EventId }): EventWalkResult;
  /** What an event set off, directly and further on, in the order of their happening. */
  effects(input: { readonly event: EventId }): EventWalkResult;
  /** Everything that one invocation recorded. */
  invocation(input: { readonly invocation: InvocationId }): EventWalkResult;
  listDenials(input: {
    readonly actor?: string;
    readonly permission?: string;
    readonly limit: number;
    readonly cursor?: string;
  }): Page<DenialRecord>;
  summarizeDenials(input: { readonly groupBy: 'actor' | 'operation' }): DenialsSummary;
  appliedMigrations(input: Record<string, never>): MigrationRecord[];
  /** Whose scope this is. */
  identify(input: Record<string, never>): { readonly tenantId: TenantId; readonly name: string };
};
