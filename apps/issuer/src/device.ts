/** The device flow's pages (RFC 8628): a program without a browser shows a code, and its user brings it here. */
import type { KoaContextWithOIDC } from 'oidc-provider';
import { renderDeviceCodePage, renderDeviceConfirmPage, renderDeviceDonePage } from './pages/device-pages.ts';
import { trustedHtml } from './pages/html.ts';
import { sendPage } from './sign-out.ts';

type Client = NonNullable<KoaContextWithOIDC['oidc']['client']>;
/** oidc-provider's error for a refused code. */
type CodeFault = Error & { readonly userCode?: string };

/**
 * Asks for the code.
 * @param form oidc-provider's form. Its field has no label, so only its token against cross-site requests is used.
 */
export function enterDeviceCode(
  ctx: KoaContextWithOIDC,
  form: string,
  _out?: unknown,
  fault?: CodeFault,
): void {
  sendPage(
    ctx,
    renderDeviceCodePage({
      action: ctx.oidc.urlFor('code_verification'),
      xsrf: /name="xsrf" value="([^"]*)"/.exec(form)?.[1] ?? '',
      typed: fault?.userCode,
      problem: fault && problemOf(fault),
    }),
  );
}

/** Asks whether the program in front of the person shows the code (RFC 8628, section 3.3.1). */
export function confirmDevice(
  ctx: KoaContextWithOIDC,
  form: string,
  client: Client,
  _device: unknown,
  code: string,
): void {
  sendPage(
    ctx,
    renderDeviceConfirmPage({
      form: trustedHtml(form),
      clientName: client.clientName ?? client.clientId,
      code,
    }),
  );
}

export function showDeviceDone(ctx: KoaContextWithOIDC): void {
  const { client } = ctx.oidc;
  sendPage(ctx, renderDeviceDonePage(client?.clientName ?? client?.clientId ?? 'The program'));
}

function problemOf(fault: CodeFault): string {
  if (fault.name === 'AbortedError') return 'You refused the program, and it has been told.';
  if (fault.userCode !== undefined || fault.name === 'NoCodeError')
    return 'This code does not work. Compare it with the one that the program shows, or start again there.';
  return 'Something went wrong. Start again in the program.';
}
