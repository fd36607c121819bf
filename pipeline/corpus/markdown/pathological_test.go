package markdown
import ("testing";"strings";"time";"fmt";"context";"graphmill/pipeline/corpus";"os")
func TestPath(t *testing.T){
 n:=4_000_000
 indent:=func(levels int)string{var b strings.Builder;for i:=0;i<levels;i++{b.WriteString(strings.Repeat("  ",i)+"- a\n")};return b.String()}
 cases:=map[string]string{
 "prose":strings.Repeat("Hello *there* [you](http://x) are `code`.\n\n",n*10/40),
 "oneline":strings.Repeat("hello there ",n*10/12),
 "brackets":strings.Repeat("[",n),"bangs":strings.Repeat("![",n),"closed":strings.Repeat("[a](",n/4),"closed2":strings.Repeat("[a](<)",n/6),"closed3":strings.Repeat("[a](b \"",5000),"closed4":strings.Repeat("[a][",n/4),"closed5":strings.Repeat("[a](b",5000),"brackets2":strings.Repeat("[a]",n/3),
 "stars":strings.Repeat("*a ",n/3),"stars2":strings.Repeat("*a**b",n/5),"under":strings.Repeat("_a",n/2),"tilde":strings.Repeat("~~a ",n/4),
 "ticks":func()string{var b strings.Builder;for i:=1;b.Len()<n;i++{b.WriteString(strings.Repeat("`",i)+"a")};return b.String()}(),
 "lt":strings.Repeat("<",n),"lta":strings.Repeat("<a ",n/3),"ltb":strings.Repeat("<!--",n/4), "amp":strings.Repeat("&",n),"bs":strings.Repeat("\\",n),
 "quote":strings.Repeat(">",5000),"dash":strings.Repeat("- ",5000),"indent":indent(300), "refs":strings.Repeat("[a]: b\n",n/7), "foot":strings.Repeat("[^a]: b\n\n",n/9), "footuse":strings.Repeat("[^a] ",n/5)+"\n\n[^a]: x\n",
 "table":"|a|b|\n|-|-|\n"+strings.Repeat("|a|b|\n",n/6),"tablewide":strings.Repeat("|a",n/4)+"\n"+strings.Repeat("|-",n/4)+"\n"+strings.Repeat("|a|\n",n/8),"htmlblk":strings.Repeat("<div>\n\n",n/7), "nl":strings.Repeat("\n",n),"list":strings.Repeat("- a\n",n/4), "hash":strings.Repeat("# a\n",n/4), "paren":"[a]("+strings.Repeat("(",n), "attr":strings.Repeat("# a {#a b=c}\n",n/10),"attr2":"# a "+strings.Repeat("{",n),"emph3":strings.Repeat("***a",n/4)+strings.Repeat("a***",n/4),
 "setext":strings.Repeat("a\n===\n",n/6),"quot2":strings.Repeat(strings.Repeat(">",200)+"a\n\n",n/200),"defs":strings.Repeat("[a\n",n/3),"defs2":strings.Repeat("[a]: b \"\n",n/10),"fn":func()string{var b strings.Builder;for i:=0;i<n/20;i++{fmt.Fprintf(&b,"[^%d]\n\n[^%d]: x\n\n",i,i)};return b.String()}(),"para":strings.Repeat("a\n",n/2),"lazy":strings.Repeat("> a\nb\n",n/6),
 }
 for k,s:=range cases{
  if o:=os.Getenv("ONLY");o!=""&&o!=k{continue}
  st:=time.Now(); d,err:=Parser{}.Parse(context.Background(),corpus.File{Path:"a"},[]byte(s),corpus.Limits{}); 
  nb:=0;if d!=nil{nb=len(d.Blocks)}
  if time.Since(st)>100*time.Millisecond{fmt.Println("SLOW",k,len(s),time.Since(st),err,nb)}
 }
}
