/** What callers of the API are told when a provider did not do what was asked of it. */
import { PlatformError } from '@freehold/contracts';
import { ProviderFailure } from './provider-exchange.ts';
import type { ApiKeyProvider, OAuthProvider, ProviderRegistry } from './providers.ts';

/**
 * A provider of API keys.
 * @throws PlatformError `validation_failed`, reason `unknown_provider`, or `consent_required` for one with a consent round.
 */
export function requireKeyProvider(registry: ProviderRegistry, key: string): ApiKeyProvider {
  const provider = registry.find(key);
  if (provider?.kind === 'api-key') return provider;
  throw provider
    ? providerRefused('consent_required', 'is connected by a consent round, not with a key')
    : unknownProvider();
}

/**
 * A provider with a platform consent round.
 * @throws PlatformError `validation_failed`, reason `unknown_provider`, or `no_consent_round` for one of API keys.
 */
export function requireConsentProvider(registry: ProviderRegistry, key: string): OAuthProvider {
  const provider = registry.find(key);
  if (provider?.kind === 'oauth2') return provider;
  throw provider ? providerRefused('no_consent_round', 'has no platform consent round') : unknownProvider();
}

/** The operator took the provider of a connection out of the registry, or changed its kind. */
export function providerGone(): PlatformError {
  return new PlatformError('unsupported', 'The provider of this connection is not set up here any more.', {
    reason: 'unknown_provider',
  });
}

/** A problem for whatever a question to a provider failed with; anything that is none of its failures stays as it is. */
export function providerProblem(error: unknown): unknown {
  if (!(error instanceof ProviderFailure)) return error;
  switch (error.fault) {
    case 'refused':
      return new PlatformError('validation_failed', 'The provider does not take this credential.', {
        reason: 'credential_refused',
        errors: [{ path: 'apiKey', message: 'is refused by the provider' }],
        cause: error,
      });
    case 'unreachable':
      return new PlatformError('runtime_fault', 'The provider cannot be reached at the moment.', {
        reason: 'provider_unreachable',
        cause: error,
      });
    case 'unusable':
      return new PlatformError('runtime_fault', 'The provider answered something that cannot be used.', {
        reason: 'provider_answer',
        cause: error,
      });
  }
}

function unknownProvider(): PlatformError {
  return providerRefused('unknown_provider', 'names no provider of this platform');
}

function providerRefused(reason: string, message: string): PlatformError {
  return new PlatformError('validation_failed', `The body is not valid. provider: ${message}.`, {
    reason,
    errors: [{ path: 'provider', message }],
  });
}
