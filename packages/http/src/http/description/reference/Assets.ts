/** How the reference looks, and what its search does: files of their own, since the page's policy takes nothing inline. */
import { createHash } from "node:crypto"

const style = `:root{--bg:#f6f5f1;--card:#fff;--sunk:#efede7;--ink:#1b1e23;--soft:#4d525a;--mute:#62676e;--line:#e3e0d8;--accent:#0f5f5c;--get:#2559ac;--post:#17724a;--put:#8a5204;--delete:#b32a23;--event:#643eb0;--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--bg:#0f1113;--card:#17191c;--sunk:#1e2125;--ink:#e9e8e4;--soft:#bcbfc3;--mute:#989da4;--line:#2a2d32;--accent:#4fb3a9;--get:#84b1f5;--post:#62c795;--put:#e5ae57;--delete:#f08b82;--event:#b79cf2}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:24px}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
a{color:var(--accent)}
code,pre{font:12.5px/1.6 var(--mono)}
code{overflow-wrap:anywhere}
p code,td code,li code{background:var(--sunk);border-radius:4px;padding:1px 4px}
[hidden]{display:none!important}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-999px;top:6px;z-index:9;background:var(--card);padding:8px 12px;border-radius:8px}
.skip:focus{left:6px}
.frame{display:grid;grid-template-columns:272px minmax(0,1fr);min-height:100vh}
.side{position:sticky;top:0;height:100vh;overflow-y:auto;border-right:1px solid var(--line);padding:22px 12px 40px 20px;font-size:13.5px}
.brand{display:block;font-weight:700;font-size:17px;letter-spacing:-.01em;color:var(--ink);text-decoration:none}
.brand small{color:var(--mute);font-weight:400;margin-left:6px;font-size:13px}
.find{margin:14px 0 6px}
.find input{width:100%;font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 10px}
.find p{margin:4px 2px 0;min-height:20px;color:var(--mute);font-size:12.5px}
.side ul{list-style:none;margin:0;padding:0}
.side>nav>ul>li{margin-top:12px}
.side>nav>ul>li>a{display:block;font-weight:650;color:var(--ink);text-decoration:none;padding:3px 8px}
.side li li a{display:flex;gap:8px;align-items:baseline;color:var(--soft);text-decoration:none;padding:3px 8px;border-radius:6px;line-height:1.35}
.side li li a:hover,.side li li a[aria-current]{background:var(--sunk);color:var(--ink)}
.m{flex:none;font:700 10.5px/1.4 var(--mono);text-transform:uppercase;letter-spacing:.02em;color:var(--get)}
.side .m{width:38px}
.m.post{color:var(--post)}.m.put,.m.patch{color:var(--put)}.m.delete{color:var(--delete)}.m.event{color:var(--event)}
main{padding:36px 40px 120px;max-width:1240px}
h1{font-size:34px;line-height:1.15;letter-spacing:-.02em;margin:0 0 10px}
h2{font-size:24px;letter-spacing:-.015em;line-height:1.25;margin:0 0 4px}
h3{font-size:18px;letter-spacing:-.01em;line-height:1.3;margin:0}
h4{font-size:13px;margin:22px 0 6px}
.lead{font-size:17px;color:var(--soft);max-width:46em;margin:0 0 22px}
.begin{display:grid;grid-template-columns:1fr 1fr;gap:14px;margin:0 0 24px}
.begin section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:14px 18px}
.begin h2{font-size:15px}.begin p{margin:6px 0 0;color:var(--soft);font-size:14px}
.group{padding-top:44px;margin-top:44px;border-top:1px solid var(--line)}
.over{margin:0;color:var(--mute);font-size:13px}
.op,.schema,.problem{padding:26px 0;border-bottom:1px solid var(--line);content-visibility:auto;contain-intrinsic-size:auto 620px}
.op:last-child,.schema:last-child,.problem:last-child{border-bottom:0}
.op:target h3,.schema:target h3,.problem:target h3{color:var(--accent)}
.cols{display:grid;grid-template-columns:minmax(0,1fr) minmax(300px,40%);gap:36px;align-items:start}
.told>p{margin:8px 0 0;color:var(--soft);max-width:44em}
.route{display:flex;gap:9px;align-items:baseline;margin:6px 0 0}
.route .m{font-size:12px}
.here{margin-left:8px;color:var(--mute);text-decoration:none;font-weight:400;opacity:0}
h2:hover .here,h3:hover .here,.here:focus-visible{opacity:1}
.needs{display:flex;flex-wrap:wrap;gap:6px;margin:12px 0 0;padding:0;list-style:none;font-size:12.5px}
.needs li{border:1px solid var(--line);border-radius:20px;padding:2px 10px;background:var(--card);color:var(--soft)}
.needs code{background:none;padding:0}
table{border-collapse:collapse;width:100%;font-size:13.5px}
thead th{font-size:11.5px;font-weight:600;color:var(--mute);text-align:left;padding:0 10px 5px 0;border-bottom:1px solid var(--line)}
tbody th,td{vertical-align:top;text-align:left;font-weight:400;padding:7px 10px 7px 0;border-bottom:1px solid var(--line)}
tbody tr:last-child>*{border-bottom:0}
tbody th{min-width:110px;max-width:230px}
tbody th code{font-weight:650;overflow-wrap:break-word}
h3 code{font-size:16px;overflow-wrap:anywhere}
tbody th span{color:var(--mute);font-weight:400}
td.t,td.r{white-space:nowrap;color:var(--mute)}
td.t{white-space:normal;min-width:70px}
td.r b{color:var(--put);font-weight:600}
td{color:var(--soft)}
td summary{cursor:pointer;color:var(--accent)}
.side-code{position:sticky;top:20px}
.side-code h4{margin:0;padding:8px 14px;color:var(--mute);border-bottom:1px solid var(--line);display:flex;justify-content:space-between;font-size:12px;font-weight:600}
.side-code section,.side-code details{background:var(--card);border:1px solid var(--line);border-radius:10px;margin-bottom:12px;overflow:hidden}
.side-code summary{cursor:pointer;padding:8px 14px;color:var(--mute);font-size:12px;font-weight:600}
.side-code details[open] summary{border-bottom:1px solid var(--line)}
pre{margin:0;padding:12px 14px;white-space:pre-wrap;overflow-wrap:anywhere}
.copy{font:inherit;font-size:12px;color:var(--accent);background:none;border:0;padding:0;cursor:pointer}
.problem p{margin:6px 0 0;color:var(--soft);max-width:52em}
.status{font:650 13px var(--mono);color:var(--delete);margin-right:10px}
@media (max-width:1120px){.cols{display:block}.side-code{position:static;margin-top:18px}}
@media (max-width:820px){html{scroll-padding-top:76px}.frame{display:block}.begin{grid-template-columns:1fr}.side{display:contents;font-size:14px}.brand,.side nav{margin:18px 16px 0}.side ul ul{display:none}.side>nav>ul{display:flex;flex-wrap:wrap;gap:6px}.side>nav>ul>li{margin:0}.side>nav>ul>li>a{border:1px solid var(--line);background:var(--card);border-radius:20px;padding:3px 11px;font-weight:500}.find{position:sticky;top:0;z-index:5;background:var(--bg);margin:6px 0 0;padding:8px 16px}.find p:empty{display:none}.side nav{margin-top:4px}main{padding:22px 16px 80px}h1{font-size:27px}.group{padding-top:30px;margin-top:30px}.here{opacity:1}}
@media (max-width:560px){table,tbody,tr,tbody th,td{display:block}thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}tbody tr{padding:9px 0;border-bottom:1px solid var(--line)}tbody tr:last-child{border-bottom:0}tbody th,td{border:0;padding:0;max-width:none}td.t,td.r{display:inline-block;margin-right:10px;font-size:12.5px}}
@media print{.side{display:none}.frame{display:block}}`

/** Without it the page is whole; with it one finds and copies. */
const script = `const field=document.querySelector("#find"),told=document.querySelector("#found"),articles=[...document.querySelectorAll("article")];
const text=new Map(articles.map((each)=>[each,(each.id+" "+each.textContent).toLowerCase()]));
const links=new Map([...document.querySelectorAll(".side li li a")].map((link)=>[link.hash.slice(1),link.parentElement]));
const filter=()=>{
  const words=field.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let count=0;
  for(const each of articles){
    const has=words.every((word)=>text.get(each).includes(word));
    each.hidden=!has;
    if(has)count+=1;
    const link=links.get(each.id);
    if(link)link.hidden=!has;
  }
  for(const group of document.querySelectorAll(".group")){
    group.hidden=!group.querySelector("article:not([hidden])");
    const link=document.querySelector('.side a[href="#'+group.id+'"]');
    if(link)link.parentElement.hidden=group.hidden;
  }
  document.querySelector(".intro").hidden=words.length>0;
  told.textContent=words.length===0?"":count===0?"Nothing here has these words.":count+(count===1?" place has":" places have")+" these words.";
};
field.closest("[hidden]").hidden=false;
field.addEventListener("input",filter);
addEventListener("keydown",(event)=>{
  if(event.key==="/"&&!/^(?:input|textarea)$/i.test(event.target.tagName)){event.preventDefault();field.focus()}
  if(event.key==="Escape"&&document.activeElement===field){field.value="";filter()}
});
addEventListener("hashchange",()=>{
  const meant=document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if(meant?.closest("[hidden]")){field.value="";filter();meant.scrollIntoView()}
});
for(const place of document.querySelectorAll(".side-code section h4")){
  const button=document.createElement("button");
  button.type="button";button.className="copy";button.textContent="Copy";
  button.setAttribute("aria-label","Copy "+place.textContent);
  button.addEventListener("click",async()=>{
    await navigator.clipboard.writeText(place.nextElementSibling.textContent);
    button.textContent="Copied";
  });
  button.addEventListener("blur",()=>{button.textContent="Copy"});
  place.append(button);
}
const seen=new Set();
const watch=new IntersectionObserver((entries)=>{
  for(const {isIntersecting,target} of entries)seen[isIntersecting?"add":"delete"](target);
  const first=articles.find((each)=>seen.has(each));
  for(const [id,item] of links){
    const link=item.firstElementChild;
    if(id===first?.id){link.setAttribute("aria-current","true");link.scrollIntoView({block:"nearest"})}
    else link.removeAttribute("aria-current");
  }
},{rootMargin:"-10% 0px -70%"});
for(const each of articles)watch.observe(each);
`

const named = (text: string, kind: string, contentType: string) => ({
  path: `docs/reference-${createHash("sha256").update(text).digest("hex").slice(0, 8)}.${kind}`,
  contentType,
  text
})

/** The files of the reference. Their paths change with their content. */
export const assets = {
  style: named(style, "css", "text/css"),
  script: named(script, "js", "text/javascript")
}
