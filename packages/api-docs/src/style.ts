/** The page's style: one column on a phone, a list beside the text where there is room; light and dark. */
export const STYLE = `
:root{color-scheme:light dark;--text:#1c2024;--soft:#545b63;--line:#d9dde2;--back:#fff;--side:#f6f7f9;--link:#0b57b8;--must:#a1260d}
@media(prefers-color-scheme:dark){:root{--text:#e6e8eb;--soft:#a9b1ba;--line:#363c44;--back:#14171a;--side:#1b1f24;--link:#8ab8ff;--must:#ff9d87}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;background:var(--back);color:var(--text);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
a{color:var(--link)}
a:focus-visible,input:focus-visible,summary:focus-visible{outline:2px solid var(--link);outline-offset:2px}
code{font:.9em/1.4 ui-monospace,monospace}
header,main,nav{padding:1rem 1.25rem}
h1,h2,h3,h4{line-height:1.25;margin:1.25rem 0 .4rem}
h1{font-size:1.6rem;margin-top:0}
h2{font-size:1.35rem;border-bottom:1px solid var(--line);padding-bottom:.3rem;margin-top:2rem}
h3{font-size:1.1rem}
h3 a{color:inherit;text-decoration:none;display:inline-block;padding:.2rem 0}
h3 a:hover{text-decoration:underline}
h4{font-size:.95rem;color:var(--soft)}
p{margin:.4rem 0;max-width:75ch}
.version,.limits,.type,.found{color:var(--soft)}
.limits,.type{font-size:.9rem}
.must{color:var(--must);font-size:.9rem}
.skip{position:absolute;left:-999rem}
.skip:focus{position:static;display:inline-block;padding:.5rem}
nav{background:var(--side)}
nav ul{list-style:none;margin:0;padding:0 0 .5rem .75rem}
nav a{display:block;padding:.3rem 0}
summary{cursor:pointer;padding:.35rem 0;font-weight:600}
input{display:block;width:100%;padding:.5rem;font:inherit;color:inherit;background:var(--back);border:1px solid var(--soft);border-radius:4px}
main:focus{outline:none}
article{border-bottom:1px solid var(--line);padding-bottom:1rem;content-visibility:auto;contain-intrinsic-size:auto 28rem}
article:target{box-shadow:inset 3px 0 var(--link);padding-left:1rem}
.address b{font:700 .85rem ui-monospace,monospace;border:1px solid var(--line);border-radius:4px;padding:.1rem .4rem}
.fields,.answers{list-style:none;margin:.3rem 0;padding:0}
.fields li,.answers li{padding:.25rem 0}
.fields .fields{margin-left:.4rem;padding-left:.9rem;border-left:1px solid var(--line)}
@media(min-width:60rem){
body{display:grid;grid-template-columns:20rem minmax(0,1fr);grid-template-rows:auto 1fr}
.skip{grid-column:1/-1}
header{grid-column:2}
main{grid-column:2;padding-top:0}
nav{grid-column:1;grid-row:1/span 3;position:sticky;top:0;height:100vh;overflow-y:auto;border-right:1px solid var(--line)}
}
`;
