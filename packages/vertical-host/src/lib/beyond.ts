/** The members that the specification does not ask of a scope host, so that a host may lack them. */
import {
  PlatformError,
  type ScopeErasure,
  type ScopeExamination,
  type ScopeRetries,
  type ScopeSnapshots,
  type VerticalScopeHost,
} from '@freehold/contracts';

type Beyond = ScopeRetries & ScopeErasure & ScopeExamination & ScopeSnapshots;

/** Returns such a member. @throws PlatformError `unsupported`, reason `host_cannot`. */
export function beyond<Name extends keyof Beyond>(
  host: VerticalScopeHost & Partial<Beyond>,
  name: Name,
): Beyond[Name] {
  const member = host[name];
  if (member) return member.bind(host) as Beyond[Name];
  throw new PlatformError('unsupported', `The scopes of this vertical have no ${name}.`, {
    reason: 'host_cannot',
  });
}
