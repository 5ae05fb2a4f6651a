/** The admin log and the access log (spec 6.2; design: control-plane, "Audit"). */

export const tag = 'Logs';
